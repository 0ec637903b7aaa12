// The file whose bytes an ioctl passes to its device. What is mapped or copied ends with the process.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// `path` is what errors call the file.
Result<std::span<const char>> map_file(const UniqueFd& file, const std::string& path);

// A copy that nobody can change any more, of a file that only root or the daemon may write. Fails with kDataLoss if
// what was copied does not have the SHA-256, which is in lower-case hex.
Result<std::span<const char>> copy_checked(const UniqueFd& file, const std::string& path, std::string_view sha256);

}  // namespace cardcage
