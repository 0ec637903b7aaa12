#include "host/claim/claim_statuses.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

#include "host/core/cancellation.h"
#include "host/core/log.h"
#include "host/model/retry_pace.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWriteLimit = 10s;
// Long in the end, since an operator has to grant a right or to enable a feature gate.
constexpr Duration kFirstPause = 1s, kLongestPause = 5min;
// A status that is refused as invalid concerns its claim alone, and is rarely accepted later.
constexpr int kInvalidPauses = 12;

bool needs_right(const Error& error) { return error.code == Code::kPermissionDenied; }

// An operator has to change something before any claim of the driver can be written.
bool concerns_driver(Code code) { return code == Code::kPermissionDenied || code == Code::kUnimplemented; }

// The result concerns one claim, so the driver may write.
bool concerns_claim(Code code) {
  return code == Code::kNotFound || code == Code::kAborted || code == Code::kInvalidArgument;
}

// A write without a response may have been stored.
bool stored_nothing(Code code) {
  return concerns_driver(code) || code == Code::kInvalidArgument || code == Code::kResourceExhausted;
}

std::string with_remedy(const Error& error) {
  if (!needs_right(error)) return error.message;
  return error.message + "; set claimStatus.enabled=true in the values of the chart";
}

}  // namespace

void ClaimStatuses::state(const ClaimRecord& record) {
  auto wanted = device_statuses(record);
  if (wanted.empty()) return withdraw(record.key());
  want(record.key(), record.ref, std::move(wanted));
}

void ClaimStatuses::restore(const ClaimRecord& record) {
  state(record);
  if (const auto known = entries_.find(record.key()); known != entries_.end()) known->second.may_be_stored = true;
}

void ClaimStatuses::withdraw(const ClaimKey& claim) {
  const auto known = entries_.find(claim);
  if (known == entries_.end()) return;
  if (!known->second.may_be_stored && writing_ != claim) return erase(known);
  want(claim, ClaimRef(known->second.ref), {});
}

void ClaimStatuses::want(const ClaimKey& claim, const ClaimRef& ref, std::vector<DeviceStatus> wanted) {
  auto known = entries_.find(claim);
  if (known != entries_.end() && known->second.ref == ref && known->second.wanted == wanted) return;
  if (known == entries_.end()) known = add(claim);
  if (known == entries_.end()) return;
  Entry& entry = known->second;
  entry.ref = ref;
  entry.wanted = std::move(wanted);
  withdrawn_.erase(entry.withdrawn);
  if (entry.wanted.empty()) withdrawn_.emplace(entry.withdrawn = ++withdrawals_, claim);
  // More news of a claim must not hurry a write that fails for now.
  set_due(known, std::max(entry.due.value_or(Instant::min()), clock_.now()));
  news_.wake();
}

// Returns the end if there are too many claims.
ClaimStatuses::Entries::iterator ClaimStatuses::add(const ClaimKey& claim) {
  if (entries_.size() >= kMaxClaims) {
    const auto oldest = std::ranges::find_if(withdrawn_, [&](const auto& entry) { return entry.second != writing_; });
    if (oldest == withdrawn_.end()) {
      log_limited(LogLevel::kWarn, "claim-status-full", "the status of a claim is not written: there are too many",
                  {{"uid", claim.uid}, {"driver", claim.driver}, {"limit", kMaxClaims}});
      return entries_.end();
    }
    erase(entries_.find(oldest->second));
  }
  Entry entry{.ref = {}, .wanted = {}, .due = {}, .backoff = {kFirstPause, kLongestPause, claim.uid}};
  return entries_.emplace(claim, std::move(entry)).first;
}

void ClaimStatuses::erase(Entries::iterator entry) {
  set_due(entry, std::nullopt);
  withdrawn_.erase(entry->second.withdrawn);
  entries_.erase(entry);
}

ClaimStatuses::DriverState& ClaimStatuses::driver_of(const ClaimKey& claim) {
  return drivers_
      .try_emplace(claim.driver, DriverState{.due = {},
                                             .trouble = {},
                                             .not_before = Instant::min(),
                                             .attempts = {kFirstPause, kLongestPause, claim.driver}})
      .first->second;
}

void ClaimStatuses::set_due(Entries::iterator entry, std::optional<Instant> due) {
  auto& queue = driver_of(entry->first).due;
  std::optional<Instant>& before = entry->second.due;
  if (before) queue.erase({*before, entry->first.uid});
  before = due;
  if (due) queue.emplace(*due, entry->first.uid);
}

// A linear search, since a node has few drivers.
std::optional<std::pair<Instant, ClaimKey>> ClaimStatuses::next() const {
  std::optional<std::pair<Instant, ClaimKey>> first;
  for (const auto& [name, driver] : drivers_) {
    if (driver.due.empty()) continue;
    const auto& [due, uid] = *driver.due.begin();
    const Instant when = std::max(due, driver.not_before);
    if (!first || when < first->first) first = {when, ClaimKey{name, uid}};
  }
  return first;
}

Task<void> ClaimStatuses::run() {
  using namespace asio::experimental::awaitable_operators;
  co_await (write_due() || hurry_after_outages());
}

// Pauses have grown long in an outage.
Task<void> ClaimStatuses::hurry_after_outages() {
  while (true) {
    co_await cluster_.contact().wait_to_retry(clock_, Instant::max(), kSpreadOfWrites);
    const bool over = co_await cancelled();
    if (over) co_return;
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (!entry->second.due || !std::exchange(entry->second.away, false)) continue;
      set_due(entry, clock_.now());
    }
    news_.wake();
  }
}

Task<void> ClaimStatuses::write_due() {
  while (!co_await cancelled()) {
    auto first = next();
    if (!first) {
      co_await news_.wait();
    } else if (clock_.now() < first->first) {
      co_await news_.wait_until(clock_, first->first);
    } else {
      co_await write(std::move(first->second));
    }
  }
}

Task<void> ClaimStatuses::write(ClaimKey claim) {
  const Entry& sent = entries_.at(claim);
  const std::vector<DeviceStatus> devices = sent.wanted;
  const ClaimRef ref = sent.ref;
  writing_ = claim;
  const Status written = co_await cluster_.apply_claim_status(ref, claim.driver, devices, clock_.now() + kWriteLimit);
  if (co_await cancelled()) co_return;
  writing_.reset();
  note(claim, written);
  const auto entry = entries_.find(claim);
  take_result(entry, written, entry->second.wanted == devices && entry->second.ref == ref);
}

// `newest` is true if the claim has not changed again since.
void ClaimStatuses::take_result(Entries::iterator entry, const Status& written, bool newest) {
  Entry& claim = entry->second;
  const Code code = written ? Code::kOk : written.error().code;
  claim.away = code == Code::kUnavailable;
  // The entries of a claim that is gone are gone with it.
  const bool done = written || code == Code::kNotFound || code == Code::kAborted;
  if (written)
    claim.may_be_stored = true;
  else if (done)
    claim.may_be_stored = false;
  else if (!stored_nothing(code))
    claim.may_be_stored = true;
  if (claim.wanted.empty() && (!claim.may_be_stored || (done && newest))) return erase(entry);
  if (done) {
    claim.backoff.reset();
    return set_due(entry, newest ? std::nullopt : std::optional(clock_.now()));
  }
  const Duration pause = claim.backoff.next(cluster_) * (code == Code::kInvalidArgument ? kInvalidPauses : 1);
  set_due(entry, clock_.now() + pause);
}

// Notes the result for the whole driver.
void ClaimStatuses::note(const ClaimKey& claim, const Status& written) {
  DriverState& driver = driver_of(claim);
  const Code code = written ? Code::kOk : written.error().code;
  if (code == Code::kInvalidArgument)
    log_limited(LogLevel::kWarn, "claim-status " + claim.uid, "the API server refuses the status of a claim",
                {{"uid", claim.uid}, {"driver", claim.driver}, {"error", written.error().message}});
  if (concerns_driver(code)) {
    driver.not_before = clock_.now() + driver.attempts.next();
  } else {
    driver.not_before = Instant::min();
    driver.attempts.reset();
  }
  const std::optional<Error> before = std::exchange(driver.trouble, std::nullopt);
  if (!written && !concerns_claim(code)) driver.trouble = written.error();
  if (before && !driver.trouble)
    log(LogLevel::kInfo, "the status of claims is written again", {{"driver", claim.driver}});
  if (driver.trouble && (!before || before->code != code))
    log(LogLevel::kWarn, "the status of claims cannot be written; trying again",
        {{"uid", claim.uid}, {"driver", claim.driver}, {"error", with_remedy(written.error())}});
}

std::optional<Condition> ClaimStatuses::condition() const {
  if (entries_.empty()) return std::nullopt;
  std::size_t waiting = 0;
  for (const auto& [name, driver] : drivers_) {
    waiting += driver.due.size();
    if (driver.trouble)
      return Condition{Level::kBad, needs_right(*driver.trouble) ? "refused" : "failing", with_remedy(*driver.trouble)};
  }
  if (waiting > 0)
    return Condition{Level::kInProgress, "pending", fmt::format("{} claim{}", waiting, waiting == 1 ? "" : "s")};
  return Condition{Level::kGood, "written", ""};
}

}  // namespace cardcage
