#include "host/binding/binder.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <random>

#include "host/binding/device_statuses.h"
#include "host/claim/conflicts.h"
#include "host/claim/replaced_devices.h"
#include "host/core/log.h"
#include "host/model/retry_pace.h"

namespace cardcage {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

namespace {

constexpr Duration kApplyLimit = 10s, kReleaseLimit = 30s, kAskLimit = 10s, kAskAgain = 15s;
constexpr const char* kPart = "binding";  // the part of the driver that owns the conditions

bool has_bindings(const ModulePart& part) {
  return std::ranges::any_of(part.devices, [](const HeldDevice& held) { return !held.allocation.binding.empty(); });
}

}  // namespace

Binder::Binder(std::string driver, std::shared_ptr<ClaimPreparer> preparer, const BinderEnvironment& environment)
    : driver_(std::move(driver)),
      preparer_(std::move(preparer)),
      environment_(environment),
      follow_again_(1s, 60s, std::random_device{}()),
      calls_(environment.core),
      wake_(environment.core),
      need_changed_(environment.core),
      stopped_(environment.core) {}

void Binder::set_devices(Devices devices) {
  if (devices == devices_) return;
  devices_ = std::move(devices);
  need_changed_.wake();  // claims of other nodes may concern this one now
}

Task<void> Binder::run() {
  co_await (follow() || work() || stopped_.wait());
  co_await calls_.join(environment_.clock, Instant::max());
}

// -- the claims that wait --------------------------------------------------------------------------------------------

bool Binder::is_needed() const { return !devices_.empty() || !all_begun().empty(); }

Task<void> Binder::follow() {
  while (true) {
    if (is_needed()) {
      co_await (follow_once() || need_changed_.wait());
      continue;
    }
    waiting_.clear();
    complete_ = false;
    co_await need_changed_.wait();
  }
}

Task<void> Binder::follow_once() {
  while (true) {
    std::function<void(ClaimEvent)> on_event = [this](ClaimEvent event) {
      if (event.kind == ClaimEvent::Kind::kListed) follow_again_.reset();
      take(std::move(event));
    };
    const Status ended = co_await environment_.cluster.follow_claims(std::move(on_event));
    if (!ended)
      log_limited(LogLevel::kWarn, "follow claims " + driver_,
                  "cannot follow the ResourceClaims that wait for devices with binding conditions",
                  {{"driver", driver_}, {"error", ended.error().message}});
    const Instant due = environment_.clock.now() + follow_again_.next(environment_.cluster);
    co_await environment_.cluster.contact().wait_to_retry(environment_.clock, due, kSpreadOfLists);
  }
}

// Returns whether a pod waits, or has waited, for devices of this node.
bool Binder::is_ours(const Claim& claim) const {
  const auto is_bound = [&](const Allocation& allocation) {
    return allocation.driver == driver_ && !allocation.binding.empty() &&
           (devices_.contains({allocation.pool, allocation.device}) || begun(claim.ref.uid));
  };
  return std::ranges::any_of(claim.allocations, is_bound);
}

void Binder::take(ClaimEvent event) {
  if (event.kind == ClaimEvent::Kind::kListing) {
    listed_.emplace();
    return;
  }
  if (event.kind == ClaimEvent::Kind::kListed) {
    if (listed_) std::erase_if(waiting_, [&](const auto& known) { return !listed_->contains(known.first); });
    listed_.reset();
    complete_ = true;
    return wake_.wake();
  }
  const std::string uid = event.claim.ref.uid;
  if (event.kind == ClaimEvent::Kind::kGone || !is_ours(event.claim)) {
    if (waiting_.erase(uid) > 0) wake_.wake();
    return;
  }
  if (listed_) listed_->insert(uid);
  unreported_.erase(uid);
  Waiting& waiting = waiting_[uid];
  if (waiting.claim == event.claim) return;
  const Claim before = std::exchange(waiting.claim, std::move(event.claim));
  const bool allocated_anew =
      before.allocated_at != waiting.claim.allocated_at || before.allocations != waiting.claim.allocations;
  const bool reserved_anew = !std::ranges::all_of(waiting.claim.reserved_for, [&](const std::string& consumer) {
    return std::ranges::find(before.reserved_for, consumer) != before.reserved_for.end();
  });
  if (allocated_anew) waiting.stated.clear();  // the server has dropped the status of the earlier allocation
  if (allocated_anew || reserved_anew) {
    waiting.settled = false;
    waiting.due = environment_.clock.now();
  }
  wake_.wake();
}

std::shared_ptr<const ClaimRecord> Binder::begun(const std::string& uid) const {
  auto record = environment_.ledger.find({driver_, uid});
  return record && (record->phase == ClaimPhase::kBinding || releasing_.contains(uid)) ? record : nullptr;
}

std::vector<std::shared_ptr<const ClaimRecord>> Binder::all_begun() const {
  std::vector<std::shared_ptr<const ClaimRecord>> records;
  for (const auto& [key, record] : environment_.ledger.claims_of(driver_))
    if (begun(key.uid)) records.push_back(record);
  return records;
}

// -- calls for them --------------------------------------------------------------------------------------------------

Task<void> Binder::work() {
  while (true) {
    const Instant next = spawn_due();
    co_await wake_.wait_until(environment_.clock, next);
  }
}

// Starts the calls that are due, one for each claim at a time. A call may end at once, and its entry here with it, so
// it is started last. Returns when to look again at the latest.
Instant Binder::spawn_due() {
  const Instant now = environment_.clock.now();
  Instant next = Instant::max();
  const auto is_due = [&](Instant& due) {
    const bool reached = due <= now;
    if (reached) due = now + kBindInterval;
    next = std::min(next, due);
    return reached;
  };
  for (const auto& record : all_begun()) {
    const std::string& uid = record->ref.uid;
    if (!must_release(*record) || busy_.contains(uid)) continue;
    if (const auto later = unreported_.find(uid); later != unreported_.end() && now < later->second) {
      next = std::min(next, later->second);
      continue;
    }
    if (!is_due(releasing_[uid])) continue;
    busy_.insert(uid);
    calls_.spawn(release(record));
  }
  for (auto& [uid, waiting] : waiting_) {
    const auto known = environment_.ledger.find({driver_, uid});
    const bool with_kubelet = known && known->phase != ClaimPhase::kBinding;
    if (waiting.settled || waiting.claim.reserved_for.empty() || with_kubelet) continue;
    if (releasing_.contains(uid) || busy_.contains(uid)) continue;
    if (!is_due(waiting.due)) continue;
    busy_.insert(uid);
    calls_.spawn(bind(uid));
  }
  return next;
}

// True if no pod waits for the claim any more, or if it has other devices now.
bool Binder::must_release(const ClaimRecord& record) const {
  if (!complete_) return false;
  const auto waiting = waiting_.find(record.ref.uid);
  return releasing_.contains(record.ref.uid) || waiting == waiting_.end() ||
         waiting->second.claim.reserved_for.empty() ||
         !same_devices(allocations_of(record), allocations_for(waiting->second.claim, driver_));
}

Task<void> Binder::release(std::shared_ptr<const ClaimRecord> record) {
  const std::string uid = record->ref.uid;
  const bool unwanted = co_await is_unwanted(record);
  if (!unwanted) {
    releasing_.erase(uid);
    busy_.erase(uid);
    unreported_[uid] = environment_.clock.now() + kAskAgain;
    wake_.wake();
    co_return;
  }
  unreported_.erase(uid);
  const auto still_ours = [this, uid]() -> Status {
    if (const auto known = environment_.ledger.find({driver_, uid}); known && known->phase == ClaimPhase::kPrepared)
      return fail(Code::kFailedPrecondition, "the kubelet has prepared it meanwhile");
    return {};
  };
  co_await withdraw(uid);
  auto releasing = preparer_->unprepare_if(still_ours, record->ref, environment_.clock.now() + kReleaseLimit);
  const Status released = co_await std::move(releasing);  // the preparer logs an error
  const auto left = environment_.ledger.find({driver_, uid});
  if (released || !left || left->phase == ClaimPhase::kPrepared) releasing_.erase(uid);
  busy_.erase(uid);
  if (!is_needed()) need_changed_.wake();
  wake_.wake();
}

// The label by which the cluster finds the claims of this node may be missing for a while, so a claim that is not
// reported is asked for before its devices are released.
Task<bool> Binder::is_unwanted(std::shared_ptr<const ClaimRecord> record) {
  const ClaimRef ref = record->ref;
  if (waiting_.contains(ref.uid)) co_return true;
  const auto claim =
      co_await environment_.cluster.get_claim(ref.name_space, ref.name, environment_.clock.now() + kAskLimit);
  if (!claim) co_return claim.error().code == Code::kNotFound;
  co_return claim->ref.uid != ref.uid || claim->reserved_for.empty() ||
      !same_devices(allocations_of(*record), allocations_for(*claim, driver_));
}

// The claim may be reserved again while it is allocated, and then the scheduler must not find its devices ready. It has
// to see a failure, after which it deallocates the claim.
Task<void> Binder::withdraw(std::string uid) {
  const auto waiting = waiting_.find(uid);
  if (waiting == waiting_.end()) co_return;
  const Claim claim = waiting->second.claim;
  if (outcome_of(claim.allocations, driver_, waiting->second.stated) != BindOutcome::kReady) co_return;
  waiting->second.stated.clear();
  auto applying = environment_.cluster.apply_claim_status(claim.ref, StatusOwner(driver_, kPart), {},
                                                          environment_.clock.now() + kApplyLimit);
  const Status applied = co_await std::move(applying);
  if (!applied)
    log_limited(LogLevel::kWarn, "bind status " + driver_ + uid,
                "cannot withdraw that the devices of a claim are ready",
                {{"claim", claim_label(claim.ref)}, {"driver", driver_}, {"error", applied.error().message}});
}

Task<void> Binder::bind(std::string uid) {
  const Claim claim = waiting_.at(uid).claim;
  const auto statuses = std::make_shared<Statuses>();
  auto binding = preparer_->run_alone(claim.ref, [this, claim, statuses] { return make_ready(claim, statuses); });
  const Status bound = co_await std::move(binding);
  if (!bound) {
    log_limited(
        LogLevel::kWarn, "bind " + driver_ + uid, "cannot make the devices of a claim ready",
        {{"claim", claim_label(claim.ref)}, {"uid", uid}, {"driver", driver_}, {"error", bound.error().message}});
    *statuses = unknown_statuses(claim.allocations, driver_, bound.error());
  }
  if (*statuses) co_await state(uid, claim, **statuses);
  busy_.erase(uid);
  wake_.wake();
}

// Runs in the claim's turn. The claim may have changed by then, or while the modules start; the next call is for the
// changed claim.
Task<Status> Binder::make_ready(Claim claim, std::shared_ptr<Statuses> statuses) {
  const Instant limit = environment_.clock.now() + environment_.deadlines.module_call;
  co_await environment_.devices.started(driver_, limit);
  const auto waiting = waiting_.find(claim.ref.uid);
  if (waiting == waiting_.end() || waiting->second.claim != claim) co_return Status{};
  const auto known = environment_.ledger.find({driver_, claim.ref.uid});
  if (known && known->phase != ClaimPhase::kBinding) co_return Status{};
  auto plan =
      plan_claim(driver_, claim.ref, claim, environment_.devices, environment_.ledger, environment_.clock.wall());
  if (!plan) co_return std::unexpected(plan.error());
  plan->phase = ClaimPhase::kBinding;
  if (known && !same_devices(allocations_of(*known), allocations_of(*plan))) co_return Status{};  // released first
  if (const auto replaced = known ? find_replaced(known->parts, plan->parts) : std::nullopt)
    co_return fail(Code::kFailedPrecondition, "{}", *replaced);
  if (auto free = check_free(*plan, environment_.devices, environment_.ledger); !free)
    co_return std::unexpected(free.error());
  if (!known)
    if (auto intended = environment_.ledger.intend(*plan); !intended) co_return std::unexpected(intended.error());
  std::vector<DeviceStatus> stated;
  for (const ModulePart& part : plan->parts) {
    if (!has_bindings(part)) continue;
    auto of_part = co_await call_module(*plan, part);
    std::ranges::move(of_part, std::back_inserter(stated));
  }
  *statuses = std::move(stated);
  co_return Status{};
}

Task<std::vector<DeviceStatus>> Binder::call_module(const ClaimRecord& record, const ModulePart& part) {
  const Instant deadline = environment_.clock.now() + environment_.deadlines.module_call;
  Result<BindProgress> progress;
  if (const auto module = environment_.devices.module(part.module)) {
    BindCall bind{module_claim(record, part, environment_.ledger.boot_id())};
    progress = co_await (*module)->call(std::move(bind), deadline);
  } else {
    progress = std::unexpected(module.error());
  }
  if (progress) co_return stated_statuses(part, *progress);
  log_limited(LogLevel::kWarn, "bind " + part.module + record.ref.uid, "cannot make devices ready",
              {{"claim", claim_label(record.ref)}, {"module", part.module}, {"error", progress.error().message}});
  std::vector<Allocation> allocations;
  for (const HeldDevice& held : part.devices) allocations.push_back(held.allocation);
  co_return unknown_statuses(allocations, driver_, progress.error());
}

Task<void> Binder::state(std::string uid, Claim claim, std::vector<DeviceStatus> statuses) {
  const auto before = waiting_.find(uid);
  if (before == waiting_.end() || before->second.claim != claim) co_return;  // it has changed meanwhile
  set_times(statuses, before->second.stated, environment_.clock.wall());
  if (statuses != before->second.stated) {
    auto applying = environment_.cluster.apply_claim_status(claim.ref, StatusOwner(driver_, kPart), statuses,
                                                            environment_.clock.now() + kApplyLimit);
    const Status applied = co_await std::move(applying);
    if (!applied)
      co_return log_limited(
          LogLevel::kWarn, "bind status " + driver_ + uid, "cannot state how far the devices of a claim are",
          {{"claim", claim_label(claim.ref)}, {"driver", driver_}, {"error", applied.error().message}});
  }
  const auto after = waiting_.find(uid);
  if (after == waiting_.end() || after->second.claim != claim) co_return;
  const BindOutcome outcome = outcome_of(claim.allocations, driver_, statuses);
  after->second.stated = std::move(statuses);
  after->second.settled = outcome != BindOutcome::kWaiting;
  if (!after->second.settled) co_return;
  log(LogLevel::kInfo,
      outcome == BindOutcome::kReady ? "devices are ready for a claim" : "devices cannot be made ready",
      {{"claim", claim_label(claim.ref)}, {"uid", uid}, {"driver", driver_}});
}

}  // namespace cardcage
