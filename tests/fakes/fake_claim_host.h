// A host without services, whose hooks are told apart by their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/claim/claim_host.h"

namespace cardcage {

class FakeClaimHost final : public ClaimHost {
 public:
  static Hook memory_hook(std::uint64_t bytes) {
    return {.name = "createRuntime", .path = "/hooks/lock", .args = {std::to_string(bytes)}};
  }

  void partition_changed(const std::string& module) override { partitions_changed.push_back(module); }
  Status check_services(const std::string&) const override { return {}; }
  Task<Status> stop_services(std::string, std::string, Instant) override { co_return Status{}; }
  Hook sandbox_hook(const ClaimKey& claim) const override {
    return {.name = "createRuntime", .path = "/hooks/attach", .args = {claim.uid}};
  }
  void make_hooks(Edits& edits) const override {
    for (const std::uint64_t bytes : std::exchange(edits.locked_memory, {})) edits.hooks.push_back(memory_hook(bytes));
  }
  Task<Status> hooks_ready(Instant) override { co_return ready; }
  void before_release(const ClaimKey&) override {}

  Status ready;  // the result of hooks_ready()
  std::vector<std::string> partitions_changed;
};

}  // namespace cardcage
