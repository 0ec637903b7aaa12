// Limits of requests for cage.write, whatever the configuration allows. A worker is not trusted, so the daemon checks
// them.
#pragma once

#include "host/core/result.h"
#include "host/model/module_ask.h"

namespace cardcage {

constexpr std::size_t kMaxWrite = 4096;  // bytes written to a file, or of an ioctl's argument

Status check(const FileWriteAsk& ask);
Status check(const IoctlAsk& ask);
Status check(const DriverAsk& ask);

// Returns whether a glob pattern matches the path; `*` matches no '/'. A path with a part such as ".." matches nothing.
bool matches_path(const std::string& pattern, const std::string& path);

}  // namespace cardcage
