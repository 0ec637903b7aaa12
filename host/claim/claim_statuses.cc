#include "host/claim/claim_statuses.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <ranges>
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

constexpr auto is_due = [](const auto& entry) { return entry.second.due.has_value(); };

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
  if (known->second.may_be_stored || writing_ == claim)
    want(claim, ClaimRef(known->second.ref), {});
  else
    entries_.erase(known);
}

void ClaimStatuses::want(const ClaimKey& claim, const ClaimRef& ref, std::vector<DeviceStatus> wanted) {
  auto known = entries_.find(claim);
  if (known != entries_.end() && known->second.ref == ref && known->second.wanted == wanted) return;
  if (known == entries_.end()) known = add(claim);
  if (known == entries_.end()) return;
  Entry& entry = known->second;
  entry.ref = ref;
  entry.wanted = std::move(wanted);
  entry.withdrawn = entry.wanted.empty() ? ++withdrawals_ : 0;
  // More news of a claim must not hurry a write that fails for now.
  entry.due = std::max(entry.due.value_or(Instant::min()), clock_.now());
  news_.wake();
}

// Returns the end if there are too many claims.
ClaimStatuses::Entries::iterator ClaimStatuses::add(const ClaimKey& claim) {
  if (entries_.size() >= kMaxClaims) {
    auto withdrawn = entries_ | std::views::filter([this](const auto& entry) {
                       return entry.second.withdrawn > 0 && entry.first != writing_;
                     });
    const auto oldest =
        std::ranges::min_element(withdrawn, {}, [](const auto& entry) { return entry.second.withdrawn; });
    if (oldest == withdrawn.end()) {
      log_limited(LogLevel::kWarn, "claim-status-full", "the status of a claim is not written: there are too many",
                  {{"uid", claim.uid}, {"driver", claim.driver}, {"limit", kMaxClaims}});
      return entries_.end();
    }
    entries_.erase(oldest.base());
  }
  driver_of(claim);
  Entry entry{.ref = {}, .wanted = {}, .due = {}, .backoff = {kFirstPause, kLongestPause, claim.uid}};
  return entries_.emplace(claim, std::move(entry)).first;
}

ClaimStatuses::DriverState& ClaimStatuses::driver_of(const ClaimKey& claim) {
  return drivers_
      .try_emplace(claim.driver, DriverState{.trouble = {},
                                             .not_before = Instant::min(),
                                             .attempts = {kFirstPause, kLongestPause, claim.driver}})
      .first->second;
}

// A linear search, which costs little beside a write.
std::optional<std::pair<Instant, ClaimKey>> ClaimStatuses::next() const {
  auto waiting = entries_ | std::views::filter(is_due);
  const auto when = [this](const auto& entry) {
    return std::pair(std::max(*entry.second.due, drivers_.at(entry.first.driver).not_before), *entry.second.due);
  };
  const auto first = std::ranges::min_element(waiting, {}, when);
  if (first == waiting.end()) return std::nullopt;
  return std::pair(when(*first).first, first->first);
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
    for (auto& [claim, entry] : entries_)
      if (entry.due && std::exchange(entry.away, false)) entry.due = clock_.now();
    news_.wake();
  }
}

Task<void> ClaimStatuses::write_due() {
  while (true) {
    const bool over = co_await cancelled();
    if (over) co_return;
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
  if (claim.wanted.empty() && (!claim.may_be_stored || (done && newest))) {
    entries_.erase(entry);
  } else if (done) {
    claim.backoff.reset();
    claim.due = newest ? std::nullopt : std::optional(clock_.now());
  } else {
    const Duration pause = claim.backoff.next(cluster_) * (code == Code::kInvalidArgument ? kInvalidPauses : 1);
    claim.due = clock_.now() + pause;
  }
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
  for (const auto& [name, driver] : drivers_)
    if (driver.trouble)
      return Condition{Level::kBad, needs_right(*driver.trouble) ? "refused" : "failing", with_remedy(*driver.trouble)};
  const auto waiting = std::ranges::count_if(entries_, is_due);
  if (waiting > 0)
    return Condition{Level::kInProgress, "pending", fmt::format("{} claim{}", waiting, waiting == 1 ? "" : "s")};
  return Condition{Level::kGood, "written", ""};
}

}  // namespace cardcage
