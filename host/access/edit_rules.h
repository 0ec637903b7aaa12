// Checks a module's container edits against the keys of its [[module]]. A worker may be confined and the container
// runtime is not, so the daemon checks the edits even after the worker.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "host/config/config.h"
#include "host/core/trusted_path.h"
#include "host/model/module_claim.h"

namespace cardcage {

// A list of AllowedEdits without a value allows every item of its kind.
class EditRules {
 public:
  EditRules(const ModuleConfig& config, NodeRoots roots);

  // [reads the disk] Fails for the first edit that is not allowed.
  Status check(const PreparedEdits& edits) const;

 private:
  Status check(const Edits& edits) const;
  Status check(const DeviceNode& node) const;
  Status check(const Mount& mount) const;
  Status check(const Hook& hook) const;
  Status check_variable(const EnvVar& variable) const;
  // Finds the file at a path of the node; nothing if it is not visible from here. Fails if the module could replace it.
  Result<std::optional<WalkedPath>> find(const std::string& path, const PathCheck& check) const;
  Status check_replaceable(const PathStep& step) const;

  const AllowedEdits allows_;
  const NodeRoots roots_;
  std::optional<uid_t> user_;  // user of the module's process, unless it is the daemon's
  std::vector<gid_t> groups_;
};

}  // namespace cardcage
