// Collects the node labels of one module.
#pragma once

#include "host/supervision/supervised_module.h"

namespace cardcage {

// [core]
class LabelCollector {
 public:
  // `module` outlives this.
  explicit LabelCollector(SupervisedModule& module) : module_(module) {}

  // Call this after the instance was replaced or has listed its devices.
  void request();
  bool due() const { return due_; }
  Task<void> collect();
  // See Supervisor, for both.
  const NodeLabels& labels() const { return labels_; }
  bool known() const { return known_; }

 private:
  SupervisedModule& module_;
  NodeLabels labels_;
  bool due_ = false, known_ = false;
};

}  // namespace cardcage
