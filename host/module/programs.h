// The programs of the node that a module may run, and those that it runs now.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/module/program.h"

namespace cardcage {

// [core] The owner keeps it until the tasks have ended.
class Programs {
 public:
  // `allowed` are absolute paths with different names. `make_group` may return null.
  Programs(std::string module, std::vector<std::filesystem::path> allowed,
           std::function<std::shared_ptr<ControlGroup>()> make_group)
      : module_(std::move(module)), allowed_(std::move(allowed)), make_group_(std::move(make_group)) {}

  // The file of the program. Fails if the module may not run it, or not with these variables.
  Result<std::filesystem::path> allow(const ExecAsk& ask) const;
  // See run_program().
  Task<Result<ExecResult>> run(asio::io_context& core, Clock& clock, ExecAsk ask, Instant deadline);
  // Kills all that run.
  void kill();
  // Why something that was killed is still there; see ChildProcess.
  std::optional<std::string> survivor();

 private:
  const std::string module_;
  const std::vector<std::filesystem::path> allowed_;
  const std::function<std::shared_ptr<ControlGroup>()> make_group_;
  std::vector<std::shared_ptr<ChildProcess>> running_;  // and those that were killed and do not end
};

}  // namespace cardcage
