// Reaches a file below a folder one step at a time, links included, and looks at whoever could have put each step
// there.
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// Whether somebody else's hand in a step matters: not if the content is known beforehand.
enum class Trust : std::uint8_t { kOwnersOnly, kAnybody };

// [any-thread, reads the disk] Opens `file`, relative to `folder`, for reading. Links are followed as long as they stay
// below the folder, like those of a ConfigMap or "current -> v2": each link, each folder and `folder` itself belong to
// root or to this process, and no folder is writable by others. `folder` itself may be a link: only who owns its parent
// could have made it.
Result<UniqueFd> open_below(const std::filesystem::path& folder, const std::filesystem::path& file, Trust trust);

// Whoever may write a module, or swap it in its folder, runs code as this daemon.
Status check_owner(const struct stat& about, std::string_view what, const std::filesystem::path& path);

}  // namespace cardcage
