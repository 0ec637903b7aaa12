// Notes paths in the edits of prepared claims that the daemon does not see, so that they do not pass for misfits.
#pragma once

#include <memory>
#include <set>

#include "host/claim/misfits.h"
#include "host/core/delayed_call.h"

namespace cardcage {

// [core] The ledger is not touched once the object is gone.
class UnseenPaths : public std::enable_shared_from_this<UnseenPaths> {
 public:
  UnseenPaths(asio::io_context& core, Clock& clock, Ledger& ledger)
      : core_(core), clock_(clock), ledger_(ledger), soon_(core, clock) {}

  // Looks after the response to the kubelet, and once for a burst of prepares.
  void look_soon(ClaimKey claim);
  // True if the claim has not been looked at since it was prepared.
  bool awaits(const ClaimKey& claim) const { return claims_.contains(claim); }

 private:
  static Task<void> look(std::weak_ptr<UnseenPaths> weak, asio::io_context& core, Clock& clock, Ledger& ledger,
                         std::set<ClaimKey> claims);

  asio::io_context& core_;
  Clock& clock_;
  Ledger& ledger_;
  std::set<ClaimKey> claims_;
  DelayedCall soon_;
};

}  // namespace cardcage
