// No bytes in a configuration file crash the daemon, and each error has a place and one line of text.
//   build/fuzz/bin/config_fuzz -max_len=4096 CORPUS config tests/golden/config
#include <cstdint>
#include <cstdlib>

#include "host/config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const cardcage::Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "NODE_NAME") return "node1";
    return std::nullopt;
  };
  const auto config = cardcage::parse_config({reinterpret_cast<const char*>(bytes), size}, "fuzz.toml", environment);
  if (config) return 0;
  if (config.error().entries.empty()) std::abort();
  for (const auto& entry : config.error().entries)
    if (entry.position.line == 0 || entry.message.empty() || entry.message.find('\n') != std::string::npos)
      std::abort();
  return 0;
}
