// Runs the programs of the node that a module may run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/access/program.h"
#include "host/access/program_rules.h"

namespace cardcage {

// [core] The owner keeps it until the tasks have ended.
class Programs {
 public:
  // `make_group` may return null.
  Programs(std::string module, ProgramRules rules, std::function<std::shared_ptr<ControlGroup>()> make_group)
      : module_(std::move(module)), rules_(std::move(rules)), make_group_(std::move(make_group)) {}

  const ProgramRules& rules() const { return rules_; }
  // Runs a program; see run_program().
  Task<Result<ExecResult>> run(asio::io_context& core, Clock& clock, ExecAsk ask, Instant deadline);
  // Kills all running programs.
  void kill();
  // Explains why a killed program still exists; see ChildProcess.
  std::optional<std::string> survivor();

 private:
  const std::string module_;
  const ProgramRules rules_;
  const std::function<std::shared_ptr<ControlGroup>()> make_group_;
  std::vector<std::shared_ptr<ChildProcess>> running_;  // including killed ones that do not end
};

}  // namespace cardcage
