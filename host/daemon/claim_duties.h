// Implements ClaimHost with other rooms of the daemon.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "host/claim/claim_host.h"
#include "host/daemon/pod_entry.h"
#include "host/services/services.h"

namespace cardcage {

// [core]
class ClaimDuties final : public ClaimHost {
 public:
  // The references outlive it.
  ClaimDuties(Services& services, PodEntry& pods, std::function<void(const std::string& module)> partition_changed)
      : services_(services), pods_(pods), partition_changed_(std::move(partition_changed)) {}

  void partition_changed(const std::string& module) override { partition_changed_(module); }
  Status check_services(const std::string& claim_uid) const override { return services_.check(claim_uid); }
  Task<Status> stop_services(std::string module, std::string claim_uid, Instant deadline) override {
    return services_.stop_all(std::move(module), std::move(claim_uid), deadline);
  }
  Hook sandbox_hook(const ClaimKey& claim) const override {
    return pods_.hook_file().sandbox_hook(claim.driver, claim.uid);
  }
  void make_hooks(Edits& edits) const override { pods_.hook_file().make_hooks(edits); }
  Task<Status> hooks_ready(Instant deadline) override { return pods_.hook_file().ready(deadline); }
  void before_release(const ClaimKey& claim) override { pods_.attachments().remove_all(claim.driver, claim.uid); }

 private:
  Services& services_;
  PodEntry& pods_;
  const std::function<void(const std::string& module)> partition_changed_;
};

}  // namespace cardcage
