// Finds container edits of a prepared claim that do not fit the node any more: a driver may have been replaced since.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/core/delayed_call.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// A host path of edits that does not exist, or that is another device node than the edits say.
struct Misfit {
  std::string path;
  std::string what;  // "'/dev/acme0' is device 240:7 now, not 240:0"
};

using Misfits = std::vector<Misfit>;

// The misfits of all parts, without paths that the daemon could not see after the prepare either: in a container it
// sees few paths of the host. A thread of its own looks, since a path may be on a file system that does not respond;
// after a second without a result, there are no misfits.
Task<Misfits> find_misfits(asio::io_context& core, Clock& clock, std::shared_ptr<const ClaimRecord> record);

// [core] Notes in the records of prepared claims which of their paths the daemon does not see, so that they do not pass
// for misfits. The ledger is not touched once the object is gone.
class UnseenPaths : public std::enable_shared_from_this<UnseenPaths> {
 public:
  UnseenPaths(asio::io_context& core, Clock& clock, Ledger& ledger)
      : core_(core), clock_(clock), ledger_(ledger), soon_(core, clock) {}

  // Looks after the response to the kubelet, and once for a burst of prepares.
  void check_soon(ClaimKey claim);
  // True if the claim has not been looked at since it was prepared.
  bool awaits(const ClaimKey& claim) const { return claims_.contains(claim); }

 private:
  static Task<void> note(std::weak_ptr<UnseenPaths> weak, asio::io_context& core, Clock& clock, Ledger& ledger,
                         std::set<ClaimKey> claims);

  asio::io_context& core_;
  Clock& clock_;
  Ledger& ledger_;
  std::set<ClaimKey> claims_;
  DelayedCall soon_;
};

}  // namespace cardcage
