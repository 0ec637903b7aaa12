#include "host/claim/claim_statuses.h"

#include <algorithm>

#include "host/core/cancellation.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWriteLimit = 10s;
// Long in the end, since an operator has to grant a right or to switch a feature gate on.
constexpr Duration kFirstPause = 1s, kLongestPause = 5min;

bool needs_right(const Error& error) { return error.code == Code::kPermissionDenied; }

std::string with_remedy(const Error& error) {
  if (!needs_right(error)) return error.message;
  return error.message + "; add config/kubernetes/components/claim-status to the kustomization of the daemon";
}

}  // namespace

void ClaimStatuses::state(const ClaimRecord& record) {
  auto wanted = device_statuses(record);
  if (!wanted.empty() || entries_.contains(record.key())) want(record.key(), record.ref, std::move(wanted));
}

void ClaimStatuses::withdraw(const ClaimKey& claim) {
  if (const auto known = entries_.find(claim); known != entries_.end()) want(claim, known->second.ref, {});
}

void ClaimStatuses::want(const ClaimKey& claim, const ClaimRef& ref, std::vector<DeviceStatus> wanted) {
  auto known = entries_.find(claim);
  if (known != entries_.end() && known->second.ref == ref && known->second.wanted == wanted) return;
  if (known == entries_.end())
    known = entries_
                .emplace(claim,
                         Entry{.ref = {}, .wanted = {}, .due = {}, .backoff = {kFirstPause, kLongestPause, claim.uid}})
                .first;
  Entry& entry = known->second;
  entry.ref = ref;
  entry.wanted = std::move(wanted);
  entry.settled = false;
  // A write that fails for now is not hurried by more news of its claim.
  entry.due = std::max(entry.due, clock_.now());
  news_.wake();
}

ClaimStatuses::Entries::iterator ClaimStatuses::next() {
  auto first = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
    if (!entry->second.settled && (first == entries_.end() || entry->second.due < first->second.due)) first = entry;
  return first;
}

Task<void> ClaimStatuses::run() {
  while (!co_await cancelled()) {
    const auto first = next();
    if (first == entries_.end()) {
      co_await news_.wait();
    } else if (clock_.now() < first->second.due) {
      co_await news_.wait_until(clock_, first->second.due);
    } else {
      ClaimKey claim = first->first;
      co_await write(std::move(claim));
    }
  }
}

Task<void> ClaimStatuses::write(ClaimKey claim) {
  const Entry& sent = entries_.at(claim);
  const std::vector<DeviceStatus> devices = sent.wanted;
  const ClaimRef ref = sent.ref;
  const Status written = co_await cluster_.apply_claim_status(ref, claim.driver, devices, clock_.now() + kWriteLimit);
  if (co_await cancelled()) co_return;
  Entry& entry = entries_.at(claim);  // only this coroutine erases entries
  if (!settles(claim, written)) {
    entry.due = clock_.now() + entry.backoff.next();
    co_return;
  }
  entry.backoff.reset();
  if (entry.wanted != devices || entry.ref != ref) co_return;
  entry.settled = true;
  if (devices.empty()) entries_.erase(claim);
}

bool ClaimStatuses::settles(const ClaimKey& claim, const Status& written) {
  const Code code = written ? Code::kOk : written.error().code;
  switch (code) {
    case Code::kOk:
      if (trouble_) log(LogLevel::kInfo, "the status of claims is written again", {{"driver", claim.driver}});
      trouble_.reset();
      return true;
    case Code::kNotFound:
    case Code::kAborted: return true;  // the claim is gone, and its entries with it
    case Code::kInvalidArgument:
      log_limited(LogLevel::kWarn, "claim-status " + claim.uid, "the API server refuses the status of a claim",
                  {{"uid", claim.uid}, {"driver", claim.driver}, {"error", written.error().message}});
      return true;
    default: break;
  }
  if (!trouble_ || trouble_->code != code)
    log(LogLevel::kWarn, "the status of claims cannot be written; trying again",
        {{"uid", claim.uid}, {"driver", claim.driver}, {"error", with_remedy(written.error())}});
  trouble_ = written.error();
  return false;
}

std::optional<Condition> ClaimStatuses::condition() const {
  if (entries_.empty()) return std::nullopt;
  if (trouble_) return Condition{Level::kBad, needs_right(*trouble_) ? "refused" : "failing", with_remedy(*trouble_)};
  const auto waiting = std::ranges::count_if(entries_, [](const auto& entry) { return !entry.second.settled; });
  if (waiting > 0)
    return Condition{Level::kInProgress, "pending", fmt::format("{} claim{}", waiting, waiting == 1 ? "" : "s")};
  return Condition{Level::kGood, "written", ""};
}

}  // namespace cardcage
