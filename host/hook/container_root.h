// The files of a container whose first process has not started, as a createContainer hook sees them: the container's
// mounts are there, and the node's files, too.
//
// Nothing of the image is executed, and none of its links leads out of the container: openat2(2), since Linux 5.6.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// Paths are those of the container.
class ContainerRoot {
 public:
  // Of the container with this bundle, whose config.json names the root (OCI runtime specification, "Filesystem
  // Bundle").
  static Result<ContainerRoot> of_bundle(const std::string& bundle);
  static Result<ContainerRoot> of_folder(const std::string& folder);

  // False also for what is unreachable.
  bool has(const std::string& path) const;
  // The content of a regular file of at most `limit` bytes; nothing if there is no such file.
  std::optional<std::string> read(const std::string& path, std::size_t limit) const;
  // The names in a folder, sorted; none if there is no such folder.
  std::vector<std::string> list(const std::string& folder) const;
  // A regular file, for reading. With `mounted` only one that is a mount of its own, and not of the image.
  UniqueFd open(const std::string& path, bool mounted = false) const;

  // The container finds this content at the path. The image's file is replaced, or covered by a mount where the image
  // cannot be written or the folder is no part of it. False if the container can have no such file.
  Result<bool> write(const std::string& path, std::string_view content) const;
  // Mounts the content over a file. False if there is none.
  Result<bool> cover(const std::string& path, std::string_view content) const;
  // False if the image cannot be written.
  bool make_folder(const std::string& path) const;

 private:
  explicit ContainerRoot(UniqueFd root) : root_(std::move(root)) {}
  UniqueFd find(const std::string& path, int flags, bool only_image = false) const;

  UniqueFd root_;
};

}  // namespace cardcage
