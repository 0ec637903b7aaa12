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

  // What a container with the claim gets. Installs the program if it is not there, or another one.
  Result<Hook> hook_for(const std::string& driver, const std::string& claim_uid) const;

 private:
  Status install() const;

  const std::filesystem::path program_, folder_, run_dir_;
};

}  // namespace cardcage
