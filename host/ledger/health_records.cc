#include "host/ledger/health_records.h"

#include "host/core/log.h"
#include "host/ledger/ledger.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxUnwrittenEvents = 1'000;
// Beyond, all causes are written instead of those that changed: a full disk must not make us remember what was
// forgotten meanwhile.
constexpr std::size_t kMaxUnwrittenCauses = 10'000;

}  // namespace

HealthRecords::HealthRecords(asio::io_context& core, Ledger& ledger, LoadedHealth loaded)
    : core_(core), ledger_(ledger) {
  for (CauseRecord& record : loaded.causes) {
    CauseKey key(record.device, record.health.cause);
    causes_.insert_or_assign(std::move(key), std::move(record));
  }
  for (CordonRecord& record : loaded.cordons) {
    DeviceKey key = record.device;
    cordons_.insert_or_assign(std::move(key), std::move(record));
  }
}

std::vector<CauseRecord> HealthRecords::causes(const std::string& module) const {
  std::vector<CauseRecord> found;
  const CauseKey first(DeviceKey{module, ""}, "");
  for (auto entry = causes_.lower_bound(first); entry != causes_.end() && entry->second.device.module == module;
       ++entry)
    found.push_back(entry->second);
  return found;
}

std::vector<CordonRecord> HealthRecords::cordons(const std::string& module) const {
  std::vector<CordonRecord> found;
  const DeviceKey first{module, ""};
  for (auto entry = cordons_.lower_bound(first); entry != cordons_.end() && entry->first.module == module; ++entry)
    found.push_back(entry->second);
  return found;
}

void HealthRecords::keep(CauseRecord record) {
  const CauseKey key(record.device, record.health.cause);
  const auto known = causes_.find(key);
  if (known != causes_.end() && known->second == record) return;
  causes_.insert_or_assign(key, std::move(record));
  mark(key);
}

void HealthRecords::forget(const DeviceKey& device, const std::string& cause) {
  CauseKey key(device, cause);
  if (causes_.erase(key) > 0) mark(std::move(key));
}

void HealthRecords::mark(CauseKey key) {
  if (!all_unwritten_) unwritten_causes_.insert(std::move(key));
  if (unwritten_causes_.size() > kMaxUnwrittenCauses) {
    unwritten_causes_.clear();
    all_unwritten_ = true;
  }
  write_soon();
}

void HealthRecords::note(HealthEvent event) {
  unwritten_events_.push_back(std::move(event));
  bound_events();
  write_soon();
}

void HealthRecords::bound_events() {
  while (unwritten_events_.size() > kMaxUnwrittenEvents) {
    const HealthEvent& lost = unwritten_events_.front();
    log_limited(LogLevel::kWarn, "health-history", "the health history lost an event that could not be written",
                {{"module", lost.device.module}, {"device", lost.device.id}, {"cause", lost.cause}});
    unwritten_events_.pop_front();
  }
}

void HealthRecords::write_soon() {
  changed_ = true;
  ledger_.write_soon();
}

Task<Status> HealthRecords::keep(CordonRecord record) {
  DeviceKey device = record.device;
  return enqueue({std::move(device), std::move(record)});
}

Task<Status> HealthRecords::forget_cordon(DeviceKey device) { return enqueue({std::move(device), std::nullopt}); }

Task<Status> HealthRecords::enqueue(HealthChanges::Cordon change) {
  WaitingCordon waiting{std::move(change), OneShot<Status>(core_)};
  if (ledger_.hung()) {
    waiting.done.set(ledger_.hang());
  } else {
    waiting_cordons_.push_back(waiting);
    changed_ = true;
    ledger_.write_now();
  }
  return [](WaitingCordon cordon, Clock& clock, Error late) -> Task<Status> {
    std::optional<Status> outcome = co_await cordon.done.wait_until(clock, clock.now() + Ledger::kHung);
    if (outcome) co_return *std::move(outcome);
    *cordon.given_up = true;
    co_return std::unexpected(std::move(late));
  }(std::move(waiting), ledger_.clock_, ledger_.hang().error());
}

Task<Result<std::vector<HealthEvent>>> HealthRecords::health_history(HealthQuery query) {
  return ledger_.read<std::vector<HealthEvent>>(
      [query = std::move(query)](const LedgerStore& store) { return store.health().history(query); });
}

std::shared_ptr<const HealthChanges> HealthRecords::take() {
  auto changes = std::make_shared<HealthChanges>();
  changes->all_causes = all_unwritten_;
  if (all_unwritten_)
    for (const auto& [key, record] : causes_) changes->causes.push_back({key.first, key.second, record});
  for (const CauseKey& key : unwritten_causes_) {
    const auto entry = causes_.find(key);
    changes->causes.push_back(
        {key.first, key.second, entry == causes_.end() ? std::optional<CauseRecord>() : entry->second});
  }
  writing_cordons_ = std::exchange(waiting_cordons_, {});
  std::erase_if(writing_cordons_, [](const WaitingCordon& waiting) { return *waiting.given_up; });
  for (const WaitingCordon& one : writing_cordons_) changes->cordons.push_back(one.change);
  changes->events.assign(std::make_move_iterator(unwritten_events_.begin()),
                         std::make_move_iterator(unwritten_events_.end()));
  unwritten_causes_.clear();
  unwritten_events_.clear();
  all_unwritten_ = changed_ = false;
  writing_ = changes;
  return changes;
}

void HealthRecords::finish(const Status& written) {
  const auto changes = std::exchange(writing_, nullptr);
  const auto cordons = std::exchange(writing_cordons_, {});
  if (!written) put_back(*changes);
  finish(cordons, written);
  if (!written && !changes->empty())
    log_limited(LogLevel::kWarn, "health",
                "the ledger cannot write the health of devices; it stays in force, but a restart of cardcage would "
                "forget the latest changes; the next one tries again",
                {{"error", written.error().message}});
}

void HealthRecords::finish(const std::vector<WaitingCordon>& cordons, const Status& written) {
  for (const auto& [change, done, given_up] : cordons) {
    const auto before = cordons_.find(change.device);
    if (written && *given_up) {
      // The disk has it all the same, so the cordon before is written again.
      const auto record = before == cordons_.end() ? std::nullopt : std::optional(before->second);
      waiting_cordons_.push_back({{change.device, record}, OneShot<Status>(core_)});
      changed_ = true;
    } else if (written && change.record) {
      cordons_.insert_or_assign(change.device, *change.record);
    } else if (written) {
      cordons_.erase(change.device);
    }
    done.set(written);
  }
}

void HealthRecords::put_back(const HealthChanges& unwritten) {
  all_unwritten_ = all_unwritten_ || unwritten.all_causes;
  for (const auto& change : unwritten.causes)
    if (!all_unwritten_) unwritten_causes_.emplace(change.device, change.cause);
  if (all_unwritten_) unwritten_causes_.clear();
  unwritten_events_.insert(unwritten_events_.begin(), unwritten.events.begin(), unwritten.events.end());
  bound_events();
}

}  // namespace cardcage
