// Declarations of every type that TOML has.
#pragma once

#include <string>
#include <vector>

#include "host/model/option.h"

namespace cardcage {

inline OptionDeclaration declare(const std::string& name, OptionType type) {
  OptionDeclaration declaration;
  declaration.name = name;
  declaration.type = type;
  declaration.help = "help of " + name;
  return declaration;
}

inline std::vector<OptionDeclaration> declarations() {
  auto mig = declare("mig", OptionType::kString);
  mig.choices = {"none", "single", "mixed"};
  mig.default_text = "none";
  auto replicas = declare("replicas", OptionType::kInteger);
  replicas.min = 1;
  replicas.max = 8;
  replicas.default_text = "1";
  auto interval = declare("interval", OptionType::kDuration);
  interval.min = 1'000'000'000;
  interval.max = 3'600'000'000'000;
  interval.default_text = "1m30s";
  auto ignore = declare("ignore", OptionType::kList);
  ignore.max = 2;
  ignore.default_text = "[\"a\", \"b\"]";
  auto token = declare("token", OptionType::kString);
  token.secret = true;
  token.choices = {"one", "two"};
  token.default_text = "one";
  return {mig, replicas, interval, ignore, token, declare("strict", OptionType::kBoolean)};
}

}  // namespace cardcage
