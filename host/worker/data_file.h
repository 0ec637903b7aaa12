// The file whose bytes an ioctl passes to its device. Mapped and copied memory ends with the process.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// `path` names the file in errors.
Result<std::span<const char>> map_file(const UniqueFd& file, const std::string& path);

// Copies a file that only root or the daemon may write, so that no process can change the bytes any more. Fails with
// kDataLoss if the copy does not have the SHA-256, which is in lower-case hex.
Result<std::span<const char>> copy_checked(const UniqueFd& file, const std::string& path, std::string_view sha256);

}  // namespace cardcage
