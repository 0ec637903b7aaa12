// Files that survive a crash: whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// The content of a regular file of at most `limit` bytes; a larger one is an error, never a truncation.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

// Writes beside `path` under a dot-name, syncs, renames over it and syncs the folder. On any error the old file
// stays as it was and nothing is left behind. `durable` = false leaves out both syncs: for files that are
// rebuilt from the ledger anyway.
Status write_file_atomically(const std::filesystem::path& path, std::string_view content, mode_t mode,
                             bool durable = true);

// Creates the folder and its parents with `mode` if missing.
Status make_folder(const std::filesystem::path& path, mode_t mode);

}  // namespace cardcage
