#include "ctl/operator_name.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace cardcage {

std::string operator_name() {
  // no code here calls setenv
  if (const char* user = std::getenv("SUDO_USER"); user != nullptr && *user != '\0') return user;
  passwd entry{};
  passwd* found = nullptr;
  char text[4096];
  if (::getpwuid_r(::geteuid(), &entry, text, sizeof text, &found) == 0 && found != nullptr) return entry.pw_name;
  return fmt::format("uid {}", ::geteuid());
}

}  // namespace cardcage
