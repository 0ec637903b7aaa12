#include "host/ledger/ledger.h"

#include <algorithm>

#include "host/core/file.h"
#include "host/core/log.h"
#include "host/ledger/ledger_file.h"
#include "host/model/change_counters.h"

namespace cardcage {
namespace {

// Long enough for the kubelet's call that made the change to end first, and short enough to lose little in a crash of
// the node.
constexpr Duration kWriteDelay = std::chrono::milliseconds(10);
constexpr Duration kFirstRetry = std::chrono::seconds(1), kLongestRetry = std::chrono::seconds(30);
// A limit above the number of a node's pods. A disk that stays full must not fill the memory.
constexpr std::size_t kMaxUnwritten = 1000;
// The size of some hundred claims with as much state as a module may have.
constexpr std::size_t kMaxUnwrittenBytes = 16u << 20;

}  // namespace

Result<std::string> read_boot_id() {
  auto text = read_file("/proc/sys/kernel/random/boot_id", 64);
  if (!text) return text;
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return text;
}

Result<std::unique_ptr<Ledger>> Ledger::open(asio::io_context& core, Clock& clock, LedgerOptions options) {
  auto opened = open_ledger_file(options.file, options.cdi_folder, options.boot_id, options.history,
                                 options.health_history, clock.wall());
  if (!opened) return std::unexpected(opened.error());
  auto intents = Intents::open(options.intents, options.boot_id, clock.wall());
  if (!intents) return std::unexpected(intents.error());
  std::unique_ptr<Ledger> ledger(new Ledger(core, clock, std::move(options), std::move(opened->store),
                                            std::move(*intents), std::move(opened->health)));
  ledger->rebuilt_ = opened->rebuilt;
  for (ClaimRecord& claim : opened->claims) ledger->set(std::make_shared<const ClaimRecord>(std::move(claim)));
  ledger->adopt_intents();
  return ledger;
}

Ledger::Ledger(asio::io_context& core, Clock& clock, LedgerOptions options, std::unique_ptr<LedgerStore> store,
               Intents intents, LoadedHealth health)
    : core_(core),
      clock_(clock),
      options_(std::move(options)),
      store_(std::move(store)),
      intents_(std::move(intents)),
      health_(core, *this, std::move(health)),
      writing_soon_(core, clock),
      hung_soon_(core, clock),
      retry_(kFirstRetry, kLongestRetry, options_.boot_id) {}

// The file may lack the last changes of each claim, and never has newer ones.
void Ledger::adopt_intents() {
  std::vector<ClaimKey> settled;
  for (const auto& [key, entry] : intents_.entries()) {
    if (entry.released && !find(key)) {
      settled.push_back(key);
      continue;
    }
    set(key, entry.released ? nullptr : entry.record);
    if (entry.released || entry.record->phase == ClaimPhase::kPrepared)
      enqueue({entry.record, entry.released, Durability::kNode, {}, entry.record});
  }
  intents_.clear(settled);
}

Ledger::~Ledger() {
  writer_.join();
  if (writing_) writing_->ledger = nullptr;
  const Batch last{nullptr, {}, std::move(waiting_), health_.take()};
  if (last.changes.empty() && last.health->empty()) return;
  const Written written = write(last);
  if (written.claims) settle(last);
  for (const Status& part : {written.claims, written.health})
    if (!part)
      log_limited(LogLevel::kError, "ledger", "cannot write the last changes to the ledger",
                  {{"error", part.error().message}});
}

std::shared_ptr<const ClaimRecord> Ledger::find(const ClaimKey& key) const {
  const auto entry = claims_.find(key);
  return entry == claims_.end() ? nullptr : entry->second;
}

void Ledger::set(const ClaimKey& key, std::shared_ptr<const ClaimRecord> record) {
  if (options_.changes) options_.changes->note({Section::kClaims, Section::kDevices});
  if (const auto old = find(key)) by_device_.remove(old);
  if (!record) {
    claims_.erase(key);
    return;
  }
  by_device_.add(record);
  claims_[key] = std::move(record);
}

void Ledger::set(std::shared_ptr<const ClaimRecord> record) {
  const ClaimKey key = record->key();
  set(key, std::move(record));
}

// A refusal does not concern a claim that is being prepared already, nor an unprepare, which frees devices.
Status Ledger::intend(ClaimRecord record) {
  const auto known = find(record.key());
  if (record.phase != ClaimPhase::kUnpreparing && (!known || known->phase != record.phase))
    if (auto refused = refusal()) return std::unexpected(*std::move(refused));
  auto intent = std::make_shared<const ClaimRecord>(std::move(record));
  Status written = intents_.set(intent);
  if (written) set(std::move(intent));
  return written;
}

Status Ledger::put(ClaimRecord record, Durability durability) {
  auto now = std::make_shared<const ClaimRecord>(std::move(record));
  if (auto kept = intents_.set(now); !kept) return kept;
  set(now);
  enqueue({now, std::nullopt, durability, {}, now});
  return {};
}

Status Ledger::release(const ClaimKey& key, WallTime when, Durability durability) {
  auto record = find(key);
  if (!record) return {};
  if (auto kept = intents_.set_released(record, when); !kept) return kept;
  set(key, nullptr);
  enqueue({record, when, durability, {}, record});
  if (options_.changes) options_.changes->note({Section::kHistory});
  return {};
}

void Ledger::note(ClaimRecord record, std::vector<HistoryEntry> left) {
  auto now = std::make_shared<const ClaimRecord>(std::move(record));
  set(now);
  if (options_.changes && !left.empty()) options_.changes->note({Section::kHistory});
  enqueue({std::move(now), std::nullopt, Durability::kProcess, std::move(left)});
}

// While the disk does not take changes, only the last state of a claim waits, and all of its releases.
void Ledger::enqueue(LedgerChange change) {
  const auto earlier = std::ranges::find_if(waiting_.rbegin(), waiting_.rend(), [&](const LedgerChange& other) {
    return other.record->ref.uid == change.record->ref.uid && other.record->driver == change.record->driver;
  });
  if (earlier == waiting_.rend() || earlier->released || change.released) {
    waiting_.push_back(std::move(change));
  } else {
    earlier->record = std::move(change.record);
    if (change.settles) earlier->settles = std::move(change.settles);
    earlier->durability = std::max(earlier->durability, change.durability);
    std::ranges::move(change.left, std::back_inserter(earlier->left));
  }
  write_soon();
}

void Ledger::write_soon() {
  if (!writing_ && !writing_soon_.pending()) writing_soon_.call_after(kWriteDelay, [this] { write_now(); });
}

void Ledger::write_now() {
  if (!writing_ && (!waiting_.empty() || health_.changed())) write_next();
}

void Ledger::write_next() {
  ++transactions_;
  writing_ = std::make_shared<Batch>(this, clock_.now(), std::exchange(waiting_, {}), health_.take());
  watch_disk();
  asio::post(writer_, [this, batch = writing_] {
    const Written written = write(*batch);
    asio::post(core_, [batch, written] {
      if (batch->ledger) batch->ledger->finish(*batch, written);
    });
    store_->tidy();
  });
}

// Splits the batch if needed: the backlog of a full disk may be too much for one transaction.
Ledger::Written Ledger::write(const Batch& batch) const {
  const auto before_commit = [&] {
    if (options_.fault && !batch.changes.empty()) options_.fault(FaultPoint::kBeforeCommit);
  };
  const Status together = store_->write(batch.changes, *batch.health, before_commit);
  if (together || batch.changes.empty() || batch.health->empty()) return {together, together};
  return {store_->write(batch.changes, {}, before_commit), together};
}

void Ledger::finish(const Batch& batch, const Written& written) {
  if (hung()) log(LogLevel::kInfo, "the ledger's disk works again", {{"changes", batch.changes.size()}});
  writing_.reset();
  hung_soon_.cancel();
  last_error_ = written.health ? std::optional<Error>() : written.health.error();
  if (!written.claims) last_error_ = written.claims.error();
  if (options_.fault && !batch.changes.empty()) options_.fault(FaultPoint::kAfterCommit);
  health_.finish(written.health);
  if (written.claims) {
    retry_.reset();
    settle(batch);
  } else {
    log_limited(LogLevel::kError, "ledger", "cannot write changes of claims to the ledger; they are kept in memory",
                {{"changes", batch.changes.size()}, {"error", written.claims.error().message}});
    waiting_.insert(waiting_.begin(), batch.changes.begin(), batch.changes.end());
    writing_soon_.call_after(retry_.next(), [this] { write_now(); });
  }
  if (health_.changed())
    write_now();
  else if (!waiting_.empty())
    write_soon();
}

// A claim that changed again since the write began still waits to be written.
void Ledger::settle(const Batch& written) {
  std::vector<ClaimKey> settled;
  for (const LedgerChange& change : written.changes) {
    ClaimKey key = change.record->key();
    const auto entry = intents_.entries().find(key);
    if (entry == intents_.entries().end()) continue;
    if (entry->second.record == change.settles && entry->second.released == change.released)
      settled.push_back(std::move(key));
  }
  intents_.clear(settled);
}

// -- a disk that does not take the changes ---------------------------------------------------------------------------

void Ledger::watch_disk() {
  hung_soon_.call_after(kHung, [this] {
    log(LogLevel::kError, "the ledger's disk hangs; no further claim is prepared until it works again",
        {{"error", hang().error().message}});
  });
}

std::unexpected<Error> Ledger::hang() const {
  const Duration time = std::max(kHung, writing_ ? clock_.now() - writing_->begun : kHung);
  return fail(Code::kUnavailable,
              "ledger '{}': its disk has not finished an access for {} s; look for disk errors in the kernel log, "
              "and repair the disk or drain the node",
              options_.file.native(), std::chrono::floor<std::chrono::seconds>(time).count());
}

std::size_t Ledger::unwritten() const { return waiting_.size() + (writing_ ? writing_->changes.size() : 0); }

std::optional<Error> Ledger::last_error() const { return hung() ? hang().error() : last_error_; }

std::optional<Error> Ledger::refusal() const {
  const auto why = last_error();
  if (hung() || (why && unwritten() >= kMaxUnwritten))
    return fail(why->code, "no further claim is prepared while {} changes wait for the ledger: {}", unwritten(),
                why->message)
        .error();
  if (intents_.bytes() < kMaxUnwrittenBytes) return std::nullopt;
  return fail(Code::kResourceExhausted,
              "no further claim is prepared while {} MiB of changes wait for ledger '{}'{}: its disk is too slow, or "
              "too many claims fail; see 'cagectl claims'",
              intents_.bytes() >> 20, options_.file.native(), why ? " (" + why->message + ")" : "")
      .error();
}

Task<Result<std::vector<HistoryEntry>>> Ledger::history(HistoryQuery query) {
  return read<std::vector<HistoryEntry>>(
      [query = std::move(query)](const LedgerStore& store) { return store.history(query); });
}

}  // namespace cardcage
