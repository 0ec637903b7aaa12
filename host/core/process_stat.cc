#include "host/core/process_stat.h"

#include <sstream>

#include "host/core/file.h"

namespace cardcage {

std::string stat_field(const std::filesystem::path& process, int number) {
  constexpr std::size_t kMaxStat = 4096;
  const std::string stat = read_file(process / "stat", kMaxStat).value_or("");
  // The name of the program may contain any character. Field 3 follows it.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int at = 3; at <= number; ++at)
    if (!(fields >> field)) return {};
  return field;
}

}  // namespace cardcage
