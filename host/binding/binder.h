// Makes devices with binding conditions ready for the claims that pods wait for (KEP-5007).
//
// The scheduler allocates such a device and lets the pod wait. The binder finds the claim, calls the modules until its
// devices are ready, and states their progress in the claim's status until the scheduler has seen enough. From the
// first call of bind() on, the claim is in doubt in the ledger: its devices are held, also after a kill -9, until the
// kubelet prepares the claim, or until no pod waits for it any more and the binder has released it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/claim/claim_preparer.h"
#include "host/config/config.h"
#include "host/core/task_group.h"
#include "host/core/wakeup.h"
#include "host/model/cluster_backoff.h"

namespace cardcage {

// The interval at which a module is asked for its progress. The scheduler looks every 5 s.
constexpr std::chrono::seconds kBindInterval{3};

// All members outlive the binder.
struct BinderEnvironment {
  asio::io_context& core;
  Clock& clock;
  Cluster& cluster;
  Ledger& ledger;
  const DeviceDirectory& devices;
  const DeadlineConfig& deadlines;
};

// [core] The binder of one driver. Must outlive run().
class Binder {
 public:
  using Devices = std::set<std::pair<std::string, std::string>>;  // pools and names

  Binder(std::string driver, std::shared_ptr<ClaimPreparer> preparer, const BinderEnvironment& environment);

  // The devices that have binding conditions. While there are none, and no claim is in doubt because of them, the
  // cluster's claims are not followed.
  void set_devices(Devices devices);
  // Returns after stop(), when no module is called any more.
  Task<void> run();
  void stop() { stopped_.wake(); }

 private:
  struct Waiting {
    Claim claim;
    bool settled = false;  // the scheduler has seen enough
    Instant due = Instant::min();
    std::vector<DeviceStatus> stated = {};
  };
  // The result of bind(): nothing if the kubelet has the claim by now.
  using Statuses = std::optional<std::vector<DeviceStatus>>;

  Task<void> follow();
  Task<void> follow_once();
  void take(ClaimEvent event);
  bool is_ours(const Claim& claim) const;
  bool is_needed() const;
  // The record of a claim that the binder has begun and that the kubelet has not prepared.
  std::shared_ptr<const ClaimRecord> begun(const std::string& uid) const;
  std::vector<std::shared_ptr<const ClaimRecord>> all_begun() const;

  Task<void> work();
  Instant spawn_due();
  bool must_release(const ClaimRecord& record) const;
  Task<void> release(std::shared_ptr<const ClaimRecord> record);
  Task<bool> is_unwanted(std::shared_ptr<const ClaimRecord> record);
  Task<void> withdraw(std::string uid);
  Task<void> bind(std::string uid);
  Task<Status> make_ready(Claim claim, std::shared_ptr<Statuses> statuses);
  Task<std::vector<DeviceStatus>> call_module(const ClaimRecord& record, const ModulePart& part);
  Task<void> state(std::string uid, Claim claim, std::vector<DeviceStatus> statuses);

  const std::string driver_;
  const std::shared_ptr<ClaimPreparer> preparer_;
  const BinderEnvironment environment_;
  Devices devices_;
  std::map<std::string, Waiting> waiting_;       // claims for devices of this node, by UID
  std::optional<std::set<std::string>> listed_;  // UIDs of the list that comes in
  bool complete_ = false;                        // a whole list of claims has been read
  std::set<std::string> busy_;                   // UIDs of claims with a call in flight
  // Claims that were begun and are not released yet, with the time of the next attempt.
  std::map<std::string, Instant> releasing_;
  // Claims that the cluster does not report although a pod waits for them, with the time to ask again.
  std::map<std::string, Instant> unreported_;
  ClusterBackoff follow_again_;
  TaskGroup calls_;
  Wakeup wake_, need_changed_, stopped_;
};

}  // namespace cardcage
