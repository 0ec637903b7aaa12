// Walks to a file and checks on the way that no untrusted user could put another file at its path.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// A part of a path and the folder that holds it.
struct PathStep {
  const std::filesystem::path& folder_path;
  const struct stat& folder;
  const struct stat& part;
};
// Fails if a user who is not trusted could replace the part.
using PathCheck = std::function<Status(const PathStep& step)>;

struct WalkedPath {
  UniqueFd folder;             // O_PATH, holds the last part, or is it after ".."
  std::filesystem::path path;  // absolute, without links
  struct stat about{};         // status of the last part
};

// [reads the disk] Follows an absolute path and its links, one part at a time. Fails with kNotFound if a part does not
// exist, unless the check fails for its folder.
Result<WalkedPath> walk(const std::filesystem::path& path, const PathCheck& check);

// Trusts root and this process alone. A folder with the sticky bit, such as /tmp, may hold a folder of root, since
// other users cannot move it; a file there could be a hard link of another one.
Status check_step(const PathStep& step);
// Like check_step(), for the last part of a path: only root and this process may write it.
Status check_file(const WalkedPath& file);

}  // namespace cardcage
