// Keeps our entries in the status of claims as the modules state them (ResourceClaim.status.devices, KEP-4817).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/wakeup.h"
#include "host/ledger/record.h"
#include "host/model/cluster.h"
#include "host/model/condition.h"

namespace cardcage {

// [core] Never waits but in run(), so that no prepare waits for the API server. It writes the newest state of a claim,
// one claim after the other, and tries again with growing pauses what may still succeed. Must outlive run().
class ClaimStatuses {
 public:
  // The references outlive this.
  ClaimStatuses(asio::io_context& core, Clock& clock, Cluster& cluster)
      : clock_(clock), cluster_(cluster), news_(core) {}

  // Call it for each claim that was prepared, also by an earlier daemon, or whose devices have other statuses now.
  void state(const ClaimRecord& record);
  // Removes the entries of a claim that was unprepared.
  void withdraw(const ClaimKey& claim);
  // Writes until the surrounding coroutine is cancelled.
  Task<void> run();

  // "written"; "pending"; "refused" for lack of a right, "failing". Nothing while no module states anything.
  std::optional<Condition> condition() const;

 private:
  struct Entry {
    ClaimRef ref;
    std::vector<DeviceStatus> wanted;  // none once it is withdrawn
    bool settled = false;              // the cluster has what is wanted, or never will
    Instant due;                       // of the next attempt
    Backoff backoff;
  };
  using Entries = std::map<ClaimKey, Entry>;

  void want(const ClaimKey& claim, const ClaimRef& ref, std::vector<DeviceStatus> wanted);
  Entries::iterator next();
  Task<void> write(ClaimKey claim);
  // Whether nothing is left to do, however it ended.
  bool settles(const ClaimKey& claim, const Status& written);

  Clock& clock_;
  Cluster& cluster_;
  Entries entries_;
  Wakeup news_;
  std::optional<Error> trouble_;  // of the last write, if it failed for more than its claim alone
};

}  // namespace cardcage
