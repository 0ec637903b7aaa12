#include "ctl/since.h"

#include <chrono>

#include "host/core/duration.h"

namespace cardcage {

Result<std::int64_t> since(const std::string& ago) {
  if (ago.empty()) return 0;
  const auto duration = parse_duration(ago);
  if (!duration) return within(duration.error(), "--since");
  const auto time = std::chrono::system_clock::now() - *duration;
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

CLI::Option* add_duration(CLI::App& command, const char* name, std::string& text, const char* help) {
  const auto check = [](const std::string& given) {
    const auto duration = parse_duration(given);
    return duration ? std::string() : duration.error().message;
  };
  return command.add_option(name, text, help)->check(check)->type_name("DURATION");
}

CLI::Option* add_limit(CLI::App& command, std::uint32_t& limit) {
  return command.add_option("--limit", limit, "show at most this many")
      ->check(CLI::Range(1u, 10'000u))
      ->capture_default_str();
}

}  // namespace cardcage
