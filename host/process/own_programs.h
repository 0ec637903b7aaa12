// The programs of this project that the daemon starts. They lie beside it.
#pragma once

#include "host/core/file.h"

namespace cardcage {

inline Result<std::filesystem::path> worker_file() { return program_beside("cardcage-worker"); }
inline Result<std::filesystem::path> access_file() { return program_beside("cardcage-access"); }

}  // namespace cardcage
