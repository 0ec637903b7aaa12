// Keeps our entries in the status of claims as the modules state them (ResourceClaim.status.devices, KEP-4817).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/wakeup.h"
#include "host/ledger/record.h"
#include "host/model/cluster_backoff.h"
#include "host/model/condition.h"

namespace cardcage {

// [core] Waits only in run(), so that no prepare waits for the API server. It writes the newest state of a claim, one
// claim after the other, and repeats writes that may still succeed with growing pauses. While a driver may not write,
// one claim at a time tries for all of its claims. Must outlive run().
class ClaimStatuses {
 public:
  // More claims than a node has. The oldest ones that were unprepared are forgotten first.
  static constexpr std::size_t kMaxClaims = 1024;

  // The references outlive this.
  ClaimStatuses(asio::io_context& core, Clock& clock, Cluster& cluster)
      : clock_(clock), cluster_(cluster), news_(core) {}

  // Call it for each claim that was prepared, or whose devices have other statuses now.
  void state(const ClaimRecord& record);
  // Call it at the start for each claim that an earlier daemon prepared, and whose status it may have written.
  void restore(const ClaimRecord& record);
  // Removes the entries of a claim that was unprepared.
  void withdraw(const ClaimKey& claim);
  // Writes until the surrounding coroutine is cancelled.
  Task<void> run();

  // "written"; "pending"; "refused" for lack of a right, "failing". Nothing while no module states anything.
  std::optional<Condition> condition() const;
  // The claims that are remembered.
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    ClaimRef ref;
    std::vector<DeviceStatus> wanted;  // empty once it is withdrawn
    bool may_be_stored = false;        // the cluster may have entries of ours
    std::optional<Instant> due;        // the next attempt; nothing once the cluster has the wanted entries
    ClusterBackoff backoff;
    bool away = false;            // the cluster did not respond to the last attempt
    std::uint64_t withdrawn = 0;  // the number of its withdrawal; 0 = it is not withdrawn
  };
  using Entries = std::map<ClaimKey, Entry>;
  struct DriverState {
    std::optional<Error> trouble;         // error of the last write, if it concerns more than its claim
    Instant not_before = Instant::min();  // the next attempt while the driver may not write
    Backoff attempts;
  };

  void want(const ClaimKey& claim, const ClaimRef& ref, std::vector<DeviceStatus> wanted);
  Entries::iterator add(const ClaimKey& claim);
  DriverState& driver_of(const ClaimKey& claim);
  std::optional<std::pair<Instant, ClaimKey>> next() const;
  Task<void> write_due();
  Task<void> hurry_after_outages();
  Task<void> write(ClaimKey claim);
  void take_result(Entries::iterator entry, const Status& written, bool newest);
  void note(const ClaimKey& claim, const Status& written);

  Clock& clock_;
  Cluster& cluster_;
  Entries entries_;
  std::map<std::string, DriverState> drivers_;
  std::uint64_t withdrawals_ = 0;
  std::optional<ClaimKey> writing_;  // its entry stays until the write has ended
  Wakeup news_;
};

}  // namespace cardcage
