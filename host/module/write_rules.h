// What a module may ask for with cage.write, whatever its configuration allows. A worker is not trusted, so the daemon
// checks it.
#pragma once

#include "host/core/result.h"
#include "host/model/module_ask.h"

namespace cardcage {

constexpr std::size_t kMaxWrite = 4096;  // bytes of a file, or of the argument of an ioctl

Status check(const FileWriteAsk& ask);
Status check(const IoctlAsk& ask);
Status check(const DriverAsk& ask);

// Whether a glob pattern matches the path; `*` matches no '/'. A path with a part such as ".." matches nothing.
bool matches_path(const std::string& pattern, const std::string& path);

}  // namespace cardcage
