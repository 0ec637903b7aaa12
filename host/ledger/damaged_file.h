// Keeps damaged files for people to look at, under a name that no program reads again.
#pragma once

#include <filesystem>
#include <initializer_list>

#include "host/ledger/record.h"

namespace cardcage {

// Renames `file` to "<file>.damaged-<UTC time>" and returns that path. Files that belong to it, named by their suffixes
// ("-wal"), are renamed likewise if they exist.
Result<std::filesystem::path> set_aside(const std::filesystem::path& file, WallTime now,
                                        std::initializer_list<const char*> suffixes = {});

}  // namespace cardcage
