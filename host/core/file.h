// Files that are complete or absent, even after a crash.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// The content of a regular file of at most `limit` bytes. A larger file is an error; it is never truncated.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

// write(2) until everything is written. False, with errno, after an error.
bool write_all(int file, std::string_view content);

// Writes a hidden file beside `path`, syncs it, renames it over `path` and syncs the folder. After any error the old
// file is unchanged and nothing is left behind. `durable` = false skips both syncs, for files that are rebuilt from
// the ledger anyway.
Status write_file_atomically(const std::filesystem::path& path, std::string_view content, mode_t mode,
                             bool durable = true);

// Creates the folder and its missing parents with `mode`, independent of the umask. Folders that exist keep their mode.
Status make_folder(const std::filesystem::path& path, mode_t mode);

// Detects a change of a file without reading it. Every member is 0 for a file that does not exist.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t modified_ns = 0, size = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const std::filesystem::path& path);

// The file of this name in the folder of the running program.
Result<std::filesystem::path> program_beside(std::string_view name);

}  // namespace cardcage
