#include "host/core/process_end.h"

#include <fmt/format.h>

#include <cstring>

namespace cardcage {

std::string text_of_end(const siginfo_t& end) {
  if (end.si_code == CLD_EXITED) return fmt::format("exited with status {}", end.si_status);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps the text per thread
  return fmt::format("was killed by signal {} ({})", end.si_status, ::strsignal(end.si_status));
}

}  // namespace cardcage
