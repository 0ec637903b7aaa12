// A claim as a module reads it: cage_claim over ModuleClaim.
#pragma once

#include <deque>
#include <vector>

#include "cardcage/module.h"
#include "host/instance/values.h"
#include "host/model/module.h"

namespace cardcage {

// [module thread] Borrows `claim`, which must outlive it.
class ClaimView {
 public:
  // `schemas` are those that the module declares, or null in calls that pass no values. `module` is its name, for
  // messages.
  ClaimView(const ModuleClaim& claim, const std::vector<ParamsSchema>* schemas, const std::string& module);
  ClaimView(const ClaimView&) = delete;
  ClaimView& operator=(const ClaimView&) = delete;

  const cage_claim* table() const { return &table_; }

 private:
  struct AllocationView {
    std::vector<cage_quantity> consumed;
    cage_alloc table;
  };
  struct ParamsView {
    std::vector<cage_str> requests;
    cage_params table;
  };
  void add_allocation(const ModuleAllocation& allocation, bool with_values, const std::string& module);
  void add_params(const ModuleParams& params);

  std::deque<ValuesView> values_;
  std::deque<AllocationView> allocation_views_;
  std::deque<ParamsView> params_views_;
  std::vector<const cage_alloc*> allocations_;
  std::vector<const cage_params*> params_;
  cage_claim table_;
};

}  // namespace cardcage
