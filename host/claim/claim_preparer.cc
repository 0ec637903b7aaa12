#include "host/claim/claim_preparer.h"

#include <algorithm>

#include "host/claim/conflicts.h"
#include "host/claim/recovery.h"
#include "host/claim/replaced_devices.h"
#include "host/core/log.h"
#include "host/core/subject.h"

namespace cardcage {
namespace {

// A service has 5 s to end, and the kernel takes some more.
constexpr std::chrono::seconds kStopServices{10};

std::string device_names(const ModulePart& part) {
  std::string names;
  for (const HeldDevice& device : part.devices)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", device.allocation.device);
  return fmt::format("device{} {}", part.devices.size() == 1 ? "" : "s", names);
}

// The cluster allocates names. A device of a resource is known by its id, and may have another name by now.
bool is_same_allocation(const ClaimRecord& known, const ClaimRecord& plan) {
  return known.served().is_resource() || same_devices(allocations_of(known), allocations_of(plan));
}

}  // namespace

std::shared_ptr<ClaimPreparer> ClaimPreparer::create(std::string driver, ClaimPlanner planner,
                                                     ClaimEnvironment environment) {
  return std::shared_ptr<ClaimPreparer>(
      new ClaimPreparer(std::move(driver), std::move(planner), std::move(environment)));
}

ClaimPreparer::ClaimPreparer(std::string driver, ClaimPlanner planner, ClaimEnvironment environment)
    : driver_(std::move(driver)), planner_(std::move(planner)), environment_(std::move(environment)) {}

Task<Result<std::vector<PreparedDevice>>> ClaimPreparer::prepare_if(TurnCheck check, ClaimRef claim, Instant deadline) {
  return run(Kind::kPrepare, std::move(check), std::move(claim), deadline);
}

Task<Status> ClaimPreparer::unprepare(ClaimRef claim, Instant deadline) {
  return unprepare_if(nullptr, std::move(claim), deadline);
}

Task<Status> ClaimPreparer::unprepare_if(TurnCheck check, ClaimRef claim, Instant deadline) {
  const Outcome outcome = co_await run(Kind::kUnprepare, std::move(check), std::move(claim), deadline);
  if (!outcome) co_return std::unexpected(outcome.error());
  co_return Status{};
}

Task<Status> ClaimPreparer::run_alone(ClaimRef claim, std::function<Task<Status>()> work, Instant deadline) {
  const Outcome outcome = co_await run(Kind::kOther, nullptr, std::move(claim), deadline, std::move(work));
  if (!outcome) co_return std::unexpected(outcome.error());
  co_return Status{};
}

Task<void> ClaimPreparer::refit(std::string claim_uid, Instant deadline) {
  const auto known = environment_.ledger.find({driver_, claim_uid});
  if (!known || !is_whole(*known, environment_.ledger.boot_id())) co_return;
  const Misfits misfits = co_await find_misfits(environment_.core, environment_.clock, known);
  if (misfits.empty()) co_return;
  const TurnCheck check = [this, key = known->key()] {
    return environment_.ledger.find(key) ? Status{} : fail(Code::kAborted, "it was released meanwhile");
  };
  std::ignore = co_await prepare_if(check, known->ref, deadline);  // logs the outcome
}

Task<Status> ClaimPreparer::drop(ClaimRef claim, Instant deadline) {
  const Outcome outcome = co_await run(Kind::kDrop, nullptr, std::move(claim), deadline);
  if (!outcome) co_return std::unexpected(outcome.error());
  co_return Status{};
}

// Calls that come later wait for an operation that is in running_, so nothing can change between the check and the
// operation.
Task<ClaimPreparer::Outcome> ClaimPreparer::run(Kind kind, TurnCheck check, ClaimRef ref, Instant deadline,
                                                std::function<Task<Status>()> work) {
  // The UID becomes a file name.
  if (!is_claim_uid(ref.uid)) co_return fail(Code::kInvalidArgument, "claim UID '{}' is not a UID", ref.uid);
  while (true) {
    const bool idle = !running_.contains(ref.uid);
    if (const Status allowed = idle && check ? check() : Status{}; !allowed) co_return std::unexpected(allowed.error());
    std::shared_ptr<Operation>& running = running_[ref.uid];
    if (idle) running = std::make_shared<Operation>(Operation{kind, "its turn", {}, {}, work});
    const std::shared_ptr<Operation> operation = running;
    const OneShot<Outcome> done(environment_.core);
    operation->callers.push_back(done);
    if (idle) spawn(environment_.core, execute(shared_from_this(), operation, ref, deadline));
    std::optional<Outcome> outcome = co_await done.wait_until(environment_.clock, deadline);
    if (!outcome) {
      outcome =
          fail(Code::kDeadlineExceeded, "{}: out of time while waiting for {}{}; the work continues, {}",
               claim_subject(driver_, ref), operation->waits_for, progress_text(*operation, ref), environment_.retry);
      if (kind != Kind::kOther) log_outcome(kind, ref, *outcome);
      co_return std::move(*outcome);
    }
    // The result of other work belongs to the caller that queued it.
    if (operation->kind == kind && (idle || kind != Kind::kOther)) co_return std::move(*outcome);
  }
}

std::pair<std::string_view, std::string_view> ClaimPreparer::words_of(Kind kind) {
  switch (kind) {
    case Kind::kPrepare: return {"prepared", "prepare failed"};
    case Kind::kUnprepare: return {"unprepared", "unprepare failed"};
    case Kind::kDrop: return {"dropped without its modules", "cannot be dropped"};
    case Kind::kOther: break;
  }
  return {"done", "failed"};
}

void ClaimPreparer::log_outcome(Kind kind, const ClaimRef& ref, const Outcome& outcome) const {
  const auto [done, failed] = words_of(kind);
  if (outcome)
    log(LogLevel::kInfo, done, {{"claim", claim_label(ref)}, {"uid", ref.uid}, {"driver", driver_}});
  else  // The pod's event says it, too, but expires after an hour. Limited, because the kubelet repeats its calls.
    log_limited(
        LogLevel::kWarn, fmt::format("{} {} {}", failed, driver_, ref.uid), failed,
        {{"claim", claim_label(ref)}, {"uid", ref.uid}, {"driver", driver_}, {"error", outcome.error().message}});
}

Task<void> ClaimPreparer::execute(std::shared_ptr<ClaimPreparer> self, std::shared_ptr<Operation> operation,
                                  ClaimRef ref, Instant deadline) {
  Outcome outcome;
  switch (operation->kind) {
    case Kind::kPrepare: outcome = co_await self->execute_prepare(*operation, ref, deadline); break;
    case Kind::kUnprepare: outcome = co_await self->execute_unprepare(*operation, ref, deadline); break;
    case Kind::kDrop: outcome = co_await self->execute_drop(ref); break;
    case Kind::kOther: {
      const Status done = co_await operation->work();
      if (!done) outcome = std::unexpected(done.error());
      break;
    }
  }
  if (!outcome) outcome = within(outcome.error(), "{}", claim_subject(self->driver_, ref));
  if (operation->kind != Kind::kOther) {  // the caller of other work logs it
    self->log_outcome(operation->kind, ref, outcome);
    if (outcome) self->tell_status({self->driver_, ref.uid});
  }
  self->running_.erase(ref.uid);
  for (const OneShot<Outcome>& caller : operation->callers) caller.set(outcome);
}

// -- prepare ---------------------------------------------------------------------------------------------------------

Task<ClaimPreparer::Outcome> ClaimPreparer::execute_prepare(Operation& operation, const ClaimRef& ref,
                                                            Instant deadline) {
  const ClaimKey key{driver_, ref.uid};
  const auto known = environment_.ledger.find(key);
  if (known && is_whole(*known, environment_.ledger.boot_id())) {
    bool current = true;
    operation.waits_for = "its ResourceClaim";
    if (planner_.is_current) current = co_await planner_.is_current(ref, *known, deadline);
    if (current) {
      const Status complete = environment_.host.check_services(ref.uid);
      if (!complete) co_return std::unexpected(complete.error());
      if (unseen_->awaits(key)) co_return repeat_outcome(*known);  // unseen paths would pass for misfits
      operation.waits_for = "the files that its containers get";
      const Misfits misfits = co_await find_misfits(environment_.core, environment_.clock, known);
      if (misfits.empty()) co_return repeat_outcome(*known);
      co_return co_await prepare_again(operation, ref, misfits.front(), deadline);
    }
  }
  co_return co_await prepare_anew(operation, ref, deadline);
}

// Called if the claim's devices stay prepared, but their edits do not fit the node any more.
Task<ClaimPreparer::Outcome> ClaimPreparer::prepare_again(Operation& operation, const ClaimRef& ref, Misfit misfit,
                                                          Instant deadline) {
  log(LogLevel::kWarn, "container edits of a prepared claim do not fit the node any more; preparing it again",
      {{"claim", claim_label(ref)}, {"uid", ref.uid}, {"driver", driver_}, {"cause", misfit.what}});
  Outcome prepared = co_await prepare_anew(operation, ref, deadline);
  if (!prepared) co_return within(prepared.error(), "{}, and it cannot be prepared again", misfit.what);
  co_return prepared;
}

Task<ClaimPreparer::Outcome> ClaimPreparer::prepare_anew(Operation& operation, const ClaimRef& ref, Instant deadline) {
  const ClaimKey key{driver_, ref.uid};
  auto plan = co_await planner_.plan(ref, operation.waits_for, deadline);
  if (!plan) co_return std::unexpected(plan.error());
  ClaimRecord record = std::move(*plan);
  if (const auto known = environment_.ledger.find(key)) {
    Status cleared = co_await clear_leftovers(operation, *known, record, deadline);
    if (!cleared) co_return std::unexpected(cleared.error());
  }

  if (auto free = check_free(record, environment_.devices, environment_.ledger); !free)
    co_return std::unexpected(free.error());
  if (auto intended = environment_.ledger.intend(record); !intended) co_return std::unexpected(intended.error());
  reach(FaultPoint::kAfterIntent);
  notify_partitions(record);
  Status prepared = co_await prepare_parts(operation, record, deadline);
  if (prepared) prepared = check_combination(device_edits(record));
  if (prepared)
    prepared = plan_metadata(record, operation.described, environment_.devices,
                             environment_.cdi.metadata_folder(driver_, ref.uid));
  if (!prepared) co_return std::unexpected(prepared.error());

  // Pods may have got or left replicas of the device while the module prepared it.
  if (const auto intent = environment_.ledger.find(key))
    record.parts.front().devices.front().holders = holders_of(*intent);
  record.phase = ClaimPhase::kPrepared;
  record.boot_id = environment_.ledger.boot_id();
  if (record.prepared == WallTime{}) record.prepared = environment_.clock.wall();
  if (auto committed = commit(record); !committed) co_return std::unexpected(committed.error());
  unseen_->check_soon(key);
  co_return prepared_devices(record);
}

// Writes the CDI file again, because the folder may have been wiped meanwhile. The modules are not called.
ClaimPreparer::Outcome ClaimPreparer::repeat_outcome(const ClaimRecord& known) const {
  if (auto written = environment_.cdi.write(driver_, known.ref.uid, cdi_spec(known)); !written)
    return std::unexpected(written.error());
  return prepared_devices(known);
}

// An earlier attempt was cut off, or preceded a reboot, or was for other devices. If the devices are the same, the
// modules are called again with the state that they saved. If the claim was allocated again, or its names now belong to
// other devices, its earlier devices are released first. After a reboot the names may mean other devices as well, but
// nothing is left to release.
Task<Status> ClaimPreparer::clear_leftovers(Operation& operation, const ClaimRecord& known, ClaimRecord& plan,
                                            Instant deadline) {
  const LocatedParts before = locate_parts(known, environment_.devices);
  const bool this_boot = known.boot_id == environment_.ledger.boot_id();
  const auto replaced = this_boot ? find_replaced(before.parts, plan.parts) : std::nullopt;
  if (replaced && known.phase == ClaimPhase::kPrepared) co_return fail(Code::kFailedPrecondition, "{}", *replaced);
  if (replaced || !is_same_allocation(known, plan)) {
    const Outcome released = co_await execute_unprepare(operation, known.ref, deadline);
    if (!released) co_return within(released.error(), "its earlier devices cannot be released");
    co_return Status{};
  }
  plan.begun = known.begun;
  plan.prepared = known.prepared;
  for (ModulePart& part : plan.parts) {
    const auto same = std::ranges::find(before.parts, part.module, &ModulePart::module);
    if (same == before.parts.end()) continue;
    part.metadata = same->metadata;
    if (this_boot) part.unseen_paths = same->unseen_paths;
    if (find_replaced(std::span(same, 1), std::span(&part, 1))) continue;  // a state belongs to one device
    part.state = same->state;
    part.state_version = same->state_version;
    part.state_of_other_boot = same->state_of_other_boot || !this_boot;
    part.journal = same->journal;
    inherit_statements(*same, part);
  }
  co_return Status{};
}

Task<Status> ClaimPreparer::prepare_parts(Operation& operation, ClaimRecord& record, Instant deadline) {
  for (std::size_t i = 0; i < record.parts.size(); ++i) {
    Status done = co_await prepare_part(operation, record, record.parts[i], deadline);
    if (!done) {
      // The record stays as an intent: a module that failed may hold something until it is told to unprepare.
      if (i > 0) co_await roll_back(operation, record, i, deadline);
      co_return done;
    }
    reach(FaultPoint::kAfterModulePrepare);
  }
  co_return Status{};
}

// Waits for a module that is away for a moment. The instance that is called may be lost meanwhile; its next one may be
// called for the same claim, because modules are idempotent.
template <class T, class Call>
Task<Result<T>> ClaimPreparer::call_module(FindModule find, std::string module, Call call, Instant deadline) const {
  for (bool once_more = !environment_.repeated;; once_more = false) {
    co_await environment_.devices.returned(module, deadline);
    const auto instance = (environment_.devices.*find)(module);
    if (!instance) co_return std::unexpected(instance.error());
    Result<T> result = co_await call(**instance);
    const bool lost =
        !result && result.error().code == Code::kUnavailable && (environment_.devices.*find)(module) != instance;
    if (!lost || !once_more) co_return result;
  }
}

Task<Status> ClaimPreparer::prepare_part(Operation& operation, const ClaimRecord& record, ModulePart& part,
                                         Instant deadline) {
  operation.waits_for = fmt::format("module '{}' to prepare {}", part.module, device_names(part));
  operation.module = part.module;
  bool moves_devices = false;
  const auto call = [&](Module& module) {
    PrepareCall prepare{module_claim(record, part, environment_.ledger.boot_id())};
    part.module_id = module.identity().id;
    moves_devices = module.identity().has(Family::kSandbox) && !record.served().is_resource();
    return module.call(
        std::move(prepare), module_deadline(module),
        [this, key = record.key(), &part](std::string bytes) { return keep_journal(key, part, std::move(bytes)); });
  };
  Result<PreparedEdits> edits =
      co_await call_module<PreparedEdits>(&DeviceDirectory::module, part.module, call, deadline);
  if (!edits) co_return module_failed(edits.error(), part, "prepare");
  if (edits->allocations.size() > part.devices.size())
    co_return fail(Code::kInternal, "module '{}' returned edits for more devices than it was asked for", part.module);
  for (std::size_t i = 0; i < edits->allocations.size(); ++i) part.devices[i].edits = std::move(edits->allocations[i]);
  part.edits = std::move(edits->claim);
  // The container runtime moves devices that CDI names as network devices.
  moves_devices = moves_devices && std::ranges::any_of(part.devices, [](const HeldDevice& device) {
                    return device.edits.net_devices.empty();
                  });
  operation.waits_for = "the program of its containers' hook";
  if (Status added = co_await add_hooks(record.key(), moves_devices, part, deadline); !added) co_return added;
  part.state = std::move(edits->state);
  part.state_version = edits->state_version;
  part.state_of_other_boot = false;
  // A device of a resource has no claim that could show the statements.
  if (!record.served().is_resource())
    adopt_statements(std::move(edits->statements), environment_.clock.wall(), part, operation.described);
  co_return Status{};
}

Task<Status> ClaimPreparer::add_hooks(ClaimKey claim, bool moves_devices, ModulePart& part, Instant deadline) const {
  bool any = moves_devices;
  if (any) part.edits.hooks.push_back(environment_.host.sandbox_hook(claim));
  std::vector<Edits*> all{&part.edits};
  for (HeldDevice& device : part.devices) all.push_back(&device.edits);
  for (Edits* const edits : all) {
    const std::size_t of_module = edits->hooks.size();
    // Direct delivery has no hooks, and a container can run without these two: its loader searches default folders.
    if (environment_.resource && environment_.resource->deliver == Delivery::kDirect) {
      edits->ld_paths.clear();
      edits->proc_texts.clear();
    }
    environment_.host.make_hooks(*edits);
    any = any || edits->hooks.size() != of_module;
  }
  if (!any) co_return Status{};
  co_return co_await environment_.host.hooks_ready(deadline);
}

// Stores it in the intent, to which other calls may have added holders meanwhile.
Status ClaimPreparer::keep_journal(const ClaimKey& claim, ModulePart& part, std::string bytes) const {
  part.journal = std::move(bytes);
  ClaimRecord intent = *environment_.ledger.find(claim);
  std::ranges::find(intent.parts, part.module, &ModulePart::module)->journal = part.journal;
  const Status kept = environment_.ledger.intend(std::move(intent));
  reach(FaultPoint::kAfterJournal);
  return kept;
}

Task<void> ClaimPreparer::roll_back(Operation& operation, ClaimRecord& record, std::size_t prepared, Instant deadline) {
  for (std::size_t i = prepared; i-- > 0;) {
    Status undone = co_await unprepare_part(operation, record, record.parts[i], deadline);
    if (undone) {
      record.parts[i].state.clear();
      record.parts[i].state_version = 0;
      record.parts[i].journal.clear();
    } else {
      log(LogLevel::kWarn, "cannot roll back a partial prepare; unprepare will try again",
          {{"claim", claim_label(record.ref)}, {"cause", undone.error().message}});
    }
  }
  if (auto noted = environment_.ledger.intend(record); !noted)
    log(LogLevel::kWarn, "cannot write the roll-back to the ledger", {{"cause", noted.error().message}});
}

// The record comes first: a missing file is made again from it.
Status ClaimPreparer::commit(const ClaimRecord& record) const {
  if (auto kept = environment_.ledger.put(record, environment_.durability); !kept) return kept;
  reach(FaultPoint::kAfterPrepared);
  auto written = environment_.cdi.write(driver_, record.ref.uid, cdi_spec(record));
  reach(FaultPoint::kAfterCdiWrite);
  return written;
}

// -- unprepare -------------------------------------------------------------------------------------------------------

Task<ClaimPreparer::Outcome> ClaimPreparer::execute_unprepare(Operation& operation, const ClaimRef& ref,
                                                              Instant deadline) {
  const ClaimKey key{driver_, ref.uid};
  if (environment_.ledger.find(key)) {
    operation.waits_for = "the start of its modules";
    co_await environment_.devices.started(driver_, deadline);
  }
  if (const auto known = environment_.ledger.find(key)) {  // its holders may have changed while the modules started
    ClaimRecord record = *known;
    record.ref = ref;
    record.phase = ClaimPhase::kUnpreparing;
    LocatedParts located = locate_parts(record, environment_.devices);
    if (located.missing) co_return within(*located.missing, "cannot tell which module holds its devices");
    record.parts = std::move(located.parts);
    adopt_after_reboot(record, environment_.devices, environment_.ledger);
    if (record.parts.empty()) co_return erase(ref);
    if (auto intended = environment_.ledger.intend(record); !intended) co_return std::unexpected(intended.error());
    reach(FaultPoint::kAfterIntent);
    if (!key.served().is_resource()) environment_.host.before_release(key);
    Status released = co_await unprepare_parts(operation, record, deadline);
    if (!released) co_return std::unexpected(released.error());
  }
  co_return erase(ref);
}

ClaimPreparer::Outcome ClaimPreparer::erase(const ClaimRef& ref) const {
  const ClaimKey key{driver_, ref.uid};
  const auto known = environment_.ledger.find(key);
  if (auto removed = environment_.cdi.remove(driver_, ref.uid); !removed) return std::unexpected(removed.error());
  reach(FaultPoint::kAfterCdiRemove);
  if (auto released = environment_.ledger.release(key, environment_.clock.wall(), environment_.durability); !released)
    return std::unexpected(released.error());
  reach(FaultPoint::kAfterRelease);
  if (known) notify_partitions(*known);
  return Outcome{};
}

Task<ClaimPreparer::Outcome> ClaimPreparer::execute_drop(const ClaimRef& ref) {
  if (const auto known = environment_.ledger.find({driver_, ref.uid}))
    for (const ModulePart& part : known->parts)
      if (const Status stopped = co_await stop_services(*known, part); !stopped)
        log(LogLevel::kWarn, "cannot stop a service of a forgotten claim",
            {{"claim", claim_label(ref)}, {"cause", stopped.error().message}});
  co_return erase(ref);
}

// Calls all modules even if one fails, and returns the first error.
Task<Status> ClaimPreparer::unprepare_parts(Operation& operation, const ClaimRecord& record, Instant deadline) {
  Status result;
  for (std::size_t i = record.parts.size(); i-- > 0;) {
    const Status done = co_await unprepare_part(operation, record, record.parts[i], deadline);
    if (!done && result) result = done;
    if (done) reach(FaultPoint::kAfterModuleUnprepare);
  }
  co_return result;
}

Task<Status> ClaimPreparer::unprepare_part(Operation& operation, const ClaimRecord& record, const ModulePart& part,
                                           Instant deadline) {
  operation.waits_for = fmt::format("module '{}' to release {}", part.module, device_names(part));
  operation.module = part.module;
  const auto call = [&](Module& module) {
    UnprepareCall unprepare{module_claim(record, part, environment_.ledger.boot_id())};
    return module.call(std::move(unprepare), module_deadline(module));
  };
  Status done = co_await call_module<void>(&DeviceDirectory::module_for_release, part.module, call, deadline);
  if (!done) {
    // A quiesced module may have to wait for its resume; the host knows who can tell when.
    const auto in_service = environment_.devices.module(part.module);
    const bool quiesced = !in_service && environment_.devices.module_for_release(part.module);
    co_return module_failed(quiesced ? in_service.error() : done.error(), part, "release");
  }
  co_return co_await stop_services(record, part);
}

Task<Status> ClaimPreparer::stop_services(const ClaimRecord& record, const ModulePart& part) const {
  auto stop = environment_.host.stop_services(part.module, record.ref.uid, environment_.clock.now() + kStopServices);
  const Status stopped = co_await std::move(stop);
  if (!stopped) co_return within(stopped.error(), "module '{}'", part.module);
  co_return Status{};
}

// -- common ----------------------------------------------------------------------------------------------------------

void ClaimPreparer::tell_status(const ClaimKey& claim) const {
  if (!environment_.statuses) return;
  if (const auto record = environment_.ledger.find(claim))
    environment_.statuses->state(*record);
  else
    environment_.statuses->withdraw(claim);
}

void ClaimPreparer::reach(FaultPoint point) const {
  if (environment_.fault) environment_.fault(point);
}

void ClaimPreparer::notify_partitions(const ClaimRecord& record) const {
  for (const ModulePart& part : record.parts) {
    const HeldDevices its(part.module, environment_.devices.snapshot(part.module), environment_.ledger);
    const auto rules_others_out = [&](const HeldDevice& held) {
      const auto named = environment_.devices.locate(record.driver, held.allocation.pool, held.allocation.device);
      // A device that has left the name of the record may be listed under another one.
      return its.is_partitioned(held.device_id) || !named || named->device.id != held.device_id;
    };
    if (std::ranges::any_of(part.devices, rules_others_out)) environment_.host.partition_changed(part.module);
  }
}

Instant ClaimPreparer::module_deadline(const Module& module) const {
  const Duration own = module.identity().claim_call_limit;
  return environment_.clock.now() + std::max(Duration(environment_.deadlines.module_call), own);
}

std::string ClaimPreparer::progress_text(const Operation& operation, const ClaimRef& ref) const {
  const auto module = environment_.devices.module_for_release(operation.module);
  const auto progress = module ? (*module)->progress(ref.uid) : std::nullopt;
  return progress ? fmt::format(" ({})", to_string(*progress)) : "";
}

std::unexpected<Error> ClaimPreparer::module_failed(Error error, const ModulePart& part, std::string_view verb) const {
  if (error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded)
    error.message += fmt::format("; {}, 'cagectl modules' shows what the module waits for", environment_.retry);
  return within_subject(std::move(error), fmt::format("module '{}'", part.module),
                        fmt::format("cannot {} {}", verb, device_names(part)));
}

}  // namespace cardcage
