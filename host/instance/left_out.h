// Notes that a sink leaves out a part of a report.
#pragma once

#include <string>

#include "host/core/log.h"
#include "host/core/result.h"
#include "host/model/report.h"

namespace cardcage {

constexpr std::uint64_t kMostLogged = 100;

// Counts, keeps the first, logs within limits and returns the error.
inline std::unexpected<Error> leave_out(LeftOut& left_out, const std::string& module, const std::string& what,
                                        const std::string& name, const Error& why) {
  if (left_out.count++ == 0) left_out.first = fmt::format("{} '{}': {}", what, name, why.message);
  if (left_out.count > kMostLogged) return std::unexpected(why);
  log_limited(LogLevel::kError, module + "/" + what + "/" + name, what + " is left out: " + why.message,
              {{"module", module}, {"name", name}});
  return std::unexpected(why);
}

}  // namespace cardcage
