// Programs that the daemon may run for a module: the keys `programs` and `env` of its [[module]].
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/model/module_ask.h"

namespace cardcage {

struct ProgramCommand {
  std::filesystem::path file;
  std::vector<std::string> arguments, environment;  // without the program's name; "NAME=value"
  std::string input = {};                           // its standard input
  friend bool operator==(const ProgramCommand&, const ProgramCommand&) = default;
};

class ProgramRules {
 public:
  // `driver` is NodeRoots::driver.
  ProgramRules(const ModuleConfig& config, std::filesystem::path driver);

  Result<ProgramCommand> allow(ExecAsk ask) const;
  // Returns the command in the form that is allowed now; an earlier daemon may have allowed another one.
  Result<ProgramCommand> renew(ProgramCommand command) const;

 private:
  Status check_variable(std::string_view assignment) const;
  bool preloads_driver(std::string_view assignment) const;
  bool is_below_driver(const std::filesystem::path& file) const;

  std::vector<std::filesystem::path> files_;       // with different names
  std::optional<std::vector<std::string>> names_;  // names of variables; nothing = any
  std::filesystem::path driver_;
};

}  // namespace cardcage
