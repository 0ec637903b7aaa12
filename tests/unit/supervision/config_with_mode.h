#pragma once

#include <string>

#include "host/config/config.h"

namespace cardcage {

inline ModuleConfig with_mode(const std::string& mode) {
  ModuleConfig config{.name = "fake"};
  config.options["mode"].value = mode;
  return config;
}

}  // namespace cardcage
