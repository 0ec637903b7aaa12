// The part of devices' health that outlives the daemon, in the ledger's file.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/core/task.h"
#include "host/ledger/health_tables.h"
#include "host/model/health_record.h"

namespace cardcage {

class Ledger;

// [core] Changes go with the ledger's next transaction. A cause that changes several times before is written once, in
// its last state. Changes that could not be written wait for the next one. A cause that gets worse is synced, as
// cordons and resets are: a fault that ends the node must not be forgotten. Other changes survive a crash of the node
// only once the kernel has written them.
class HealthRecords final : public HealthStore {
 public:
  // Owned by the ledger, and uses it only once the ledger is complete.
  HealthRecords(asio::io_context& core, Ledger& ledger, LoadedHealth loaded);

  std::vector<CauseRecord> causes(const std::string& module) const override;
  std::vector<CordonRecord> cordons(const std::string& module) const override;
  std::vector<ResetRecord> resets(const std::string& module) const override;

  void keep(CauseRecord record) override;
  void forget(const DeviceKey& device, const std::string& cause) override;
  // These begin at the call, not when the task is awaited. A cordon changes once the change is on the disk. It stays
  // unchanged if that fails, or is not done after some seconds, even if the disk takes the change later.
  Task<Status> keep(CordonRecord record) override;
  Task<Status> forget_cordon(DeviceKey device) override;
  Task<Status> keep(ResetRecord record) override;
  // Keeps the newest 1,000 events that the disk does not take.
  void note(HealthEvent event) override;
  Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) override;

  // For the ledger: true if something has changed since the last take().
  bool changed() const { return changed_; }
  // Returns all changes that are not in the file yet. The ledger writes them and then calls finish(), before the next
  // take().
  std::shared_ptr<const HealthChanges> take();
  void finish(const Status& written);

 private:
  using CauseKey = std::pair<DeviceKey, std::string>;
  using DurableChange = std::variant<HealthChanges::Cordon, ResetRecord>;
  struct Waiting {
    DurableChange change;
    OneShot<Status> done;
    std::shared_ptr<bool> given_up = std::make_shared<bool>(false);  // the caller was told that nothing changes
  };

  void mark(CauseKey key);
  void write_soon();
  Task<Status> enqueue(DurableChange change);
  void finish(const HealthChanges::Cordon& change, const Status& written, bool given_up);
  void finish(const ResetRecord& record, const Status& written, bool given_up);
  void bound_events();
  void put_back(const HealthChanges& unwritten);

  asio::io_context& core_;
  Ledger& ledger_;
  std::map<CauseKey, CauseRecord> causes_;
  std::map<DeviceKey, CordonRecord> cordons_;  // as on the disk, like the resets
  std::vector<ResetRecord> resets_;            // oldest first

  bool changed_ = false;
  std::set<CauseKey> unwritten_causes_;
  bool all_unwritten_ = false;  // all causes are unwritten
  bool worse_ = false;          // a cause is worse than the disk knows
  std::deque<HealthEvent> unwritten_events_;
  std::vector<Waiting> waiting_;
  std::shared_ptr<const HealthChanges> writing_;
  std::vector<Waiting> written_soon_;  // written with `writing_`
};

}  // namespace cardcage
