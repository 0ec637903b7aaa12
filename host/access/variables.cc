#include "host/access/variables.h"

#include <algorithm>
#include <array>

namespace cardcage {

bool runs_other_code(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kBeginnings = {"LD_",  "GLIBC_", "BASH_", "PYTHON",  "PERL",
                                                                  "RUBY", "NODE_",  "LUA_",  "OPENSSL_"};
  static constexpr std::array<std::string_view, 14> kNames = {
      "PATH",    "ENV",     "IFS",        "SHELLOPTS",   "BASHOPTS",          "PS4",           "PROMPT_COMMAND",
      "NLSPATH", "LOCPATH", "GCONV_PATH", "GETCONF_DIR", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kBeginnings, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace cardcage
