// The health of devices, in the ledger's file: what of it outlives the daemon.
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

// [core] Changes go with the ledger's next transaction. A cause that changes several times before is written once, as
// it is then. What could not be written waits for the next change. A cause that gets worse is synced, as cordons and
// resets are: a fault that ends the node must not be forgotten. The rest survives a crash of the node only once the
// kernel has written it.
class HealthRecords final : public HealthStore {
 public:
  // Owned by the ledger, which is used once it is complete.
  HealthRecords(asio::io_context& core, Ledger& ledger, LoadedHealth loaded);

  std::vector<CauseRecord> causes(const std::string& module) const override;
  std::vector<CordonRecord> cordons(const std::string& module) const override;
  std::vector<ResetRecord> resets(const std::string& module) const override;

  void keep(CauseRecord record) override;
  void forget(const DeviceKey& device, const std::string& cause) override;
  // These begin at the call, not when the task is awaited. A cordon changes once that is on the disk. It stays as it
  // was if that fails, or is not done after some seconds, even if the disk takes the change later.
  Task<Status> keep(CordonRecord record) override;
  Task<Status> forget_cordon(DeviceKey device) override;
  Task<Status> keep(ResetRecord record) override;
  // Of the events that the disk does not take, the newest 1,000 are kept.
  void note(HealthEvent event) override;
  Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) override;

  // For the ledger: whether something has changed since the last take().
  bool changed() const { return changed_; }
  // All that is not in the file yet. The ledger writes it and then calls finish(), before the next take().
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
  bool all_unwritten_ = false;  // of the causes
  bool worse_ = false;          // a cause than the disk knows
  std::deque<HealthEvent> unwritten_events_;
  std::vector<Waiting> waiting_;
  std::shared_ptr<const HealthChanges> writing_;
  std::vector<Waiting> written_soon_;  // go with `writing_`
};

}  // namespace cardcage
