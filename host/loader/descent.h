// Opens a file below a folder one path component at a time, follows links, and checks who could have made each
// component.
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// The accepted owners of files: any owner only if the content is pinned by its digest.
enum class Trust : std::uint8_t { kOwnersOnly, kAnybody };

// [any-thread, reads the disk] Opens `file`, relative to `folder`, for reading. Links are followed as long as they stay
// below the folder, like those of a ConfigMap or "current -> v2". Each link, each folder and `folder` itself must
// belong to root or to this process, and no folder may be writable by others. `folder` itself may be a link, since only
// the owner of its parent could have made it.
Result<UniqueFd> open_below(const std::filesystem::path& folder, const std::filesystem::path& file, Trust trust);

// Fails if others than root and this process could change the file: they would run code as this daemon.
Status check_owner(const struct stat& about, std::string_view what, const std::filesystem::path& path);

}  // namespace cardcage
