#include "host/ledger/health_records.h"

#include <algorithm>

#include "host/core/log.h"
#include "host/ledger/ledger.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxUnwrittenEvents = 1'000;
// Beyond this number, all causes are written instead of the changed ones: a full disk must not make the daemon remember
// causes that were forgotten meanwhile.
constexpr std::size_t kMaxUnwrittenCauses = 10'000;

// `before` is null if nothing was known of the cause.
bool is_worse(const CauseRecord& now, const CauseRecord* before) {
  if (now.quarantined && !(before && before->quarantined)) return true;
  return severity(now.health.state) > severity(before ? before->health.state : HealthState::kHealthy);
}

}  // namespace

HealthRecords::HealthRecords(asio::io_context& core, Ledger& ledger, LoadedHealth loaded)
    : core_(core), ledger_(ledger), resets_(std::move(loaded.resets)) {
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

std::vector<ResetRecord> HealthRecords::resets(const std::string& module) const {
  std::vector<ResetRecord> found;
  std::ranges::copy_if(resets_, std::back_inserter(found),
                       [&](const ResetRecord& record) { return record.device.module == module; });
  return found;
}

void HealthRecords::keep(CauseRecord record) {
  const CauseKey key(record.device, record.health.cause);
  const auto known = causes_.find(key);
  if (known != causes_.end() && known->second == record) return;
  worse_ |= is_worse(record, known == causes_.end() ? nullptr : &known->second);
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
  return enqueue(HealthChanges::Cordon{std::move(device), std::move(record)});
}

Task<Status> HealthRecords::forget_cordon(DeviceKey device) {
  return enqueue(HealthChanges::Cordon{std::move(device), std::nullopt});
}

Task<Status> HealthRecords::keep(ResetRecord record) { return enqueue(std::move(record)); }

Task<Status> HealthRecords::enqueue(DurableChange change) {
  Waiting waiting{std::move(change), OneShot<Status>(core_)};
  if (ledger_.hung()) {
    waiting.done.set(ledger_.hang());
  } else {
    waiting_.push_back(waiting);
    changed_ = true;
    ledger_.write_now();
  }
  return [](Waiting its, Clock& clock, Error late) -> Task<Status> {
    std::optional<Status> outcome = co_await its.done.wait_until(clock, clock.now() + Ledger::kHung);
    if (outcome) co_return *std::move(outcome);
    *its.given_up = true;
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
  written_soon_ = std::exchange(waiting_, {});
  std::erase_if(written_soon_, [](const Waiting& one) { return *one.given_up; });
  for (const Waiting& one : written_soon_) {
    if (const auto* cordon = std::get_if<HealthChanges::Cordon>(&one.change)) changes->cordons.push_back(*cordon);
    if (const auto* reset = std::get_if<ResetRecord>(&one.change)) changes->resets.push_back(*reset);
  }
  changes->worse = worse_;
  changes->events.assign(std::make_move_iterator(unwritten_events_.begin()),
                         std::make_move_iterator(unwritten_events_.end()));
  unwritten_causes_.clear();
  unwritten_events_.clear();
  all_unwritten_ = worse_ = changed_ = false;
  writing_ = changes;
  return changes;
}

void HealthRecords::finish(const Status& written) {
  const auto changes = std::exchange(writing_, nullptr);
  const auto durable = std::exchange(written_soon_, {});
  if (!written) put_back(*changes);
  for (const auto& [change, done, given_up] : durable) {
    const bool is_given_up = *given_up;
    std::visit([&](const auto& one) { finish(one, written, is_given_up); }, change);
    done.set(written);
  }
  if (!written && !changes->empty())
    log_limited(LogLevel::kWarn, "health",
                "the ledger cannot write the health of devices; it stays in force, but a restart of cardcage would "
                "forget the latest changes; the next one tries again",
                {{"error", written.error().message}});
}

void HealthRecords::finish(const HealthChanges::Cordon& change, const Status& written, bool given_up) {
  if (!written) return;
  if (given_up) {  // the disk has it all the same, so the previous cordon is written again
    const auto before = cordons_.find(change.device);
    auto record = before == cordons_.end() ? std::nullopt : std::optional(before->second);
    waiting_.push_back({HealthChanges::Cordon{change.device, std::move(record)}, OneShot<Status>(core_)});
    changed_ = true;
  } else if (change.record) {
    cordons_.insert_or_assign(change.device, *change.record);
  } else {
    cordons_.erase(change.device);
  }
}

// A reset counts even if its caller has given up: the next daemon finds it.
void HealthRecords::finish(const ResetRecord& record, const Status& written, bool) {
  if (!written) return;
  std::erase_if(resets_, [&](const ResetRecord& old) { return old.time < record.time - kResetPeriod; });
  resets_.push_back(record);
}

void HealthRecords::put_back(const HealthChanges& unwritten) {
  all_unwritten_ = all_unwritten_ || unwritten.all_causes;
  worse_ = worse_ || unwritten.worse;
  for (const auto& change : unwritten.causes)
    if (!all_unwritten_) unwritten_causes_.emplace(change.device, change.cause);
  if (all_unwritten_) unwritten_causes_.clear();
  unwritten_events_.insert(unwritten_events_.begin(), unwritten.events.begin(), unwritten.events.end());
  bound_events();
}

}  // namespace cardcage
