// The hook's program as a file of the node: the daemon may run in a container, and the runtime does not.
#pragma once

#include <filesystem>

#include "host/core/result.h"
#include "host/model/edits.h"

namespace cardcage {

class HookFile {
 public:
  // `program` is installed in `folder`, whose path is the same in the daemon's container and on the node. `run_dir` is
  // where the hook finds the daemon.
  HookFile(std::filesystem::path program, std::filesystem::path folder, std::filesystem::path run_dir)
      : program_(std::move(program)), folder_(std::move(folder)), run_dir_(std::move(run_dir)) {}

  // What containers get. The program is installed if it is not there, or another one.
  Result<Hook> sandbox_hook(const std::string& driver, const std::string& claim_uid) const;
  Result<Hook> memory_hook(std::uint64_t bytes) const;

 private:
  Result<Hook> hook_with(const std::vector<std::string>& arguments) const;
  Status install() const;

  const std::filesystem::path program_, folder_, run_dir_;
};

}  // namespace cardcage
