// Notes that a sink leaves out a part of a report, which breaks a rule.
#pragma once

#include <string>

#include "host/core/log.h"
#include "host/core/result.h"
#include "host/model/report.h"

namespace cardcage {

constexpr std::uint64_t kMostLogged = 100;

struct ReportPart {
  const char* rule;  // "R17"
  const char* what;  // "node label"
};

// Counts, keeps the first, logs within limits and returns the error.
inline std::unexpected<Error> leave_out(LeftOut& left_out, const std::string& module, ReportPart part,
                                        const std::string& name, const Error& why) {
  if (left_out.count++ == 0) left_out.first = fmt::format("{} '{}': {}", part.what, name, why.message);
  if (left_out.count > kMostLogged) return std::unexpected(why);
  log_limited(LogLevel::kError, fmt::format("{}/{}/{}", module, part.what, name),
              fmt::format("{} is left out: {}", part.what, why.message),
              {{"module", module}, {"name", name}, {"rule", part.rule}});
  return std::unexpected(why);
}

}  // namespace cardcage
