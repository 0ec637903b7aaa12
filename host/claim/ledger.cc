#include "host/claim/ledger.h"

#include "host/claim/ledger_file.h"
#include "host/core/file.h"

namespace cardcage {
namespace {

// What a device is found by: the module's id for it, and its name in Kubernetes. No module's name has a slash.
template <class Visit>
void each_device(const ClaimRecord& record, Visit visit) {
  for (const ModulePart& part : record.parts)
    for (const HeldDevice& device : part.devices) {
      visit(std::pair(part.module, device.device_id));
      visit(std::pair("/" + record.driver, device.allocation.device));
    }
}

}  // namespace

Result<std::string> read_boot_id() {
  auto text = read_file("/proc/sys/kernel/random/boot_id", 64);
  if (!text) return text;
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return text;
}

Result<std::unique_ptr<Ledger>> Ledger::open(asio::io_context& core, LedgerOptions options) {
  auto opened = open_ledger_file(options.file, options.cdi_folder, options.boot_id, options.history);
  if (!opened) return std::unexpected(opened.error());
  std::unique_ptr<Ledger> ledger(new Ledger(core, std::move(options), std::move(opened->store)));
  ledger->rebuilt_ = opened->rebuilt;
  for (ClaimRecord& claim : opened->claims) {
    const ClaimKey key = claim.key();
    ledger->set(key, std::make_shared<const ClaimRecord>(std::move(claim)));
  }
  return ledger;
}

Ledger::Ledger(asio::io_context& core, LedgerOptions options, std::unique_ptr<LedgerStore> store)
    : core_(core), options_(std::move(options)), store_(std::move(store)) {}

Ledger::~Ledger() { writer_.join(); }

std::shared_ptr<const ClaimRecord> Ledger::find(const ClaimKey& key) const {
  const auto entry = claims_.find(key);
  return entry == claims_.end() ? nullptr : entry->second;
}

std::vector<std::shared_ptr<const ClaimRecord>> Ledger::holders(const std::string& module, const std::string& device_id,
                                                                const std::string& driver,
                                                                const std::string& device) const {
  std::set<ClaimKey> keys;
  for (const DeviceKey& found_by : {DeviceKey(module, device_id), DeviceKey("/" + driver, device)})
    if (const auto entry = holders_.find(found_by); entry != holders_.end())
      keys.insert(entry->second.begin(), entry->second.end());
  std::vector<std::shared_ptr<const ClaimRecord>> records;
  for (const ClaimKey& key : keys) records.push_back(find(key));
  return records;
}

void Ledger::set(const ClaimKey& key, std::shared_ptr<const ClaimRecord> record) {
  if (const auto old = find(key)) {
    each_device(*old, [&](const DeviceKey& device) {
      const auto entry = holders_.find(device);
      if (entry == holders_.end()) return;
      entry->second.erase(key);
      if (entry->second.empty()) holders_.erase(entry);
    });
  }
  if (!record) {
    claims_.erase(key);
    return;
  }
  each_device(*record, [&](const DeviceKey& device) { holders_[device].insert(key); });
  claims_[key] = std::move(record);
}

Task<Status> Ledger::put(ClaimRecord record, Durability durability, std::vector<HistoryEntry> left) {
  ClaimKey key = record.key();
  auto before = find(key);
  auto now = std::make_shared<const ClaimRecord>(std::move(record));
  set(key, now);
  return finish_put(std::move(key), std::move(before),
                    enqueue({std::move(now), std::nullopt, durability, std::move(left)}));
}

Task<Status> Ledger::finish_put(ClaimKey key, std::shared_ptr<const ClaimRecord> before, OneShot<Status> done) {
  Status written = co_await done.wait();
  if (!written) set(key, std::move(before));
  co_return written;
}

Task<Status> Ledger::release(ClaimKey key, WallTime when, Durability durability) {
  OneShot<Status> done(core_);
  if (auto record = find(key))
    done = enqueue({std::move(record), when, durability});
  else
    done.set(Status{});
  return finish_release(std::move(key), std::move(done));
}

Task<Status> Ledger::finish_release(ClaimKey key, OneShot<Status> done) {
  Status written = co_await done.wait();
  if (written) set(key, nullptr);
  co_return written;
}

OneShot<Status> Ledger::enqueue(LedgerChange change) {
  OneShot<Status> done(core_);
  waiting_.push_back({std::move(change), done});
  if (!writing_) write_next();
  return done;
}

void Ledger::write_next() {
  writing_ = true;
  ++transactions_;
  std::vector<LedgerChange> changes;
  std::vector<OneShot<Status>> done;
  for (Waiting& one : waiting_) {
    changes.push_back(std::move(one.change));
    done.push_back(std::move(one.done));
  }
  waiting_.clear();
  asio::post(writer_, [this, changes = std::move(changes), done = std::move(done),
                       alive = std::weak_ptr<bool>(alive_)]() mutable {
    const Status written = store_->write(changes, [this] {
      if (options_.fault) options_.fault(FaultPoint::kBeforeCommit);
    });
    asio::post(core_, [this, alive, written] {
      if (!alive.lock()) return;
      writing_ = false;
      last_error_ = written ? std::optional<Error>() : written.error();
      if (!waiting_.empty()) write_next();
    });
    for (const OneShot<Status>& one : done) one.set(written);
    store_->tidy();
  });
}

Task<Result<std::vector<HistoryEntry>>> Ledger::history(HistoryQuery query) {
  const OneShot<Result<std::vector<HistoryEntry>>> done(core_);
  asio::post(writer_, [this, done, query] { done.set(store_->history(query)); });
  co_return co_await done.wait();
}

}  // namespace cardcage
