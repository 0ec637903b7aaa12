#include "modules/fpga/claims.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "modules/common/attempts.h"
#include "modules/common/device_variable.h"
#include "modules/fpga/dfl/engine.h"
#include "modules/fpga/inventory.h"

namespace cardcage::fpga {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFunctionPollInterval{20};  // between reads of the function
constexpr milliseconds kIdlePollInterval{100};     // between searches of all processes for one that has the device open
constexpr milliseconds kIdleLimit{3000};           // processes of a killed container end in that time
constexpr milliseconds kFunctionLimit{2000};       // a port that was just programmed is enabled in that time
// A device that cannot be cleaned is fenced after so many attempts, so that its pod can end.
constexpr std::uint32_t kReleaseAttempts = 3;

std::string describe(const Identity& device) {
  const std::string model = device.model.empty() ? std::string() : " (" + device.model + ")";
  return "device '" + device.id + "'" + model;
}

// Repeats the action while a process has the device open.
void when_idle(const cage::Call& call, const std::function<void()>& action) {
  const auto end = cage::Call::Clock::now() + kIdleLimit;
  for (;;) {
    try {
      return action();
    } catch (const cage::Error& error) {
      if (error.status() != CAGE_FAILED_PRECONDITION || cage::Call::Clock::now() >= end) throw;
    }
    call.sleep(kIdlePollInterval);
  }
}

[[noreturn]] void throw_gone(std::string_view device) {
  throw cage::Error(CAGE_NOT_FOUND, "device '" + std::string(device) +
                                        "' is not on this node any more; delete the claim, or bring the card back");
}

Duties duties_of(const cage::Claim& claim) {
  return merge(decode_duties(claim.state()), decode_duties(claim.journal()));
}

// Returns whether the programming was refused before it began. A refusal by the kernel has the same statuses as an
// error of the hardware, so the loaded function decides.
bool changed_nothing(const cage::Error& error, const Target& target, const std::string& before) {
  if (error.status() == CAGE_DATA_LOSS) return true;
  const bool may_be_refused = error.status() == CAGE_PERMISSION_DENIED || error.status() == CAGE_INVALID_ARGUMENT ||
                              error.status() == CAGE_NOT_FOUND || error.status() == CAGE_FAILED_PRECONDITION ||
                              error.status() == CAGE_UNAVAILABLE;
  return may_be_refused && !before.empty() && target.function().id == before;
}

}  // namespace

void Claims::prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) {
  const Duties before = duties_of(claim);
  note_lent(before);
  const bool was_prepared = !claim.state().empty() && !claim.other_boot();
  std::vector<Work> all;
  Duties duties = before;
  for (const cage::Allocation& allocation : claim.allocations()) {
    all.push_back(plan(call, allocation, before));
    if (!allocation.admin()) duties = merge(std::move(duties), {all.back().duty});
  }
  if (duties != before) edits.journal(encode(duties));
  note_lent(duties);
  try {
    for (Work& work : all)
      if (!work.allocation.admin() && !(was_prepared && is_ready(work))) apply(call, work);
  } catch (...) {
    if (!was_prepared) try_to_restore(call, duties);
    tools_.host.rescan();
    throw;
  }
  tools_.host.rescan();  // the functions of devices are attributes
  for (const Work& work : all) add_edits(work, edits.of(work.allocation));
  edits.save("prepared\n" + encode(duties));
}

// A device that cannot be released does not keep the others. Throws the first error after all were tried.
void Claims::unprepare(const cage::Call& call, const cage::Claim& claim) {
  hardware::Attempts attempts;
  const Duties duties = duties_of(claim);
  note_lent(duties);
  for (const Duty& duty : duties) attempts.run([&] { release(call, duty, !claim.state().empty()); });
  tools_.host.rescan();
  attempts.finish();
}

void Claims::pre_start(const cage::Call& call, const cage::Claim& claim) {
  for (const Duty& duty : duties_of(claim)) {
    const auto target = find(call, duty.device);
    if (!target) throw_gone(duty.device);
    const auto hold = locks_.take(call, target->identity());
    if (target->reset_keeps_function()) when_idle(call, [&] { target->reset(call); });
    target->clear_errors(call);
  }
}

std::string Claims::reset(const cage::Call& call, std::string_view device) {
  const auto target = find(call, device);
  if (!target) throw_gone(device);
  if (const std::string why = target->why_not_resettable(); !why.empty())
    throw cage::Error(CAGE_UNIMPLEMENTED, describe(target->identity()) + " cannot be reset: " + why);
  const auto hold = locks_.take(call, target->identity());
  target->reset(call);
  clear_errors(call, *target);
  return target->identity().card;
}

// Makes all checks that need no change of the hardware.
Claims::Work Claims::plan(const cage::Call& call, const cage::Allocation& allocation, const Duties& before) const {
  Work work{.allocation = allocation,
            .target = find(call, allocation.device()),
            .settings = settings_of(allocation),
            .bitstream = std::nullopt,
            .loan = std::nullopt,
            .duty = {}};
  if (!work.target) throw_gone(allocation.device());
  if (allocation.admin()) return work;
  const Settings& settings = work.settings;
  if (!settings.bitstream.empty()) work.bitstream = catalogue_.find(settings.bitstream);
  for (const std::string* name : {&settings.blank, &settings.scrub_bitstream})
    if (!name->empty()) work.target->require_fit(catalogue_.find(*name));
  if (work.bitstream) {
    work.target->require_fit(*work.bitstream);
  } else {
    require_usable(work);
  }
  const auto begun = std::ranges::find(before, work.target->identity().id, &Duty::device);
  const bool may_be_lent = begun != before.end() && !begun->ports.empty();
  if (settings.virtual_functions) {
    work.loan.emplace(tools_, work.target->identity(), work.target->ports_to_lend());
    if (!may_be_lent) work.loan->require_possible();
  }
  if (!may_be_lent) require_function(work);
  if (const std::string why = work.target->why_not_confined(); !settings.allowed.empty() && !why.empty())
    throw cage::Error(CAGE_FAILED_PRECONDITION, describe(work.target->identity()) +
                                                    " cannot be kept to the allowedBitstreams of its class: " + why);
  work.duty = {.device = work.target->identity().id,
               .blank = settings.blank,
               .scrub_bitstream = settings.scrub_bitstream,
               .scrub_program = settings.scrub_program,
               .functions = work.target->functions_to_bind(),
               .ports = work.loan ? work.loan->numbers() : std::vector<unsigned>()};
  return work;
}

// A fenced device is usable only with a bitstream, which repairs it.
void Claims::require_usable(const Work& work) const {
  const Identity& device = work.target->identity();
  if (const auto fence = fences_.find(device))
    throw cage::Error(CAGE_UNAVAILABLE, describe(device) + " must be programmed again: " + fence->why +
                                            "; name a bitstream in the claim");
}

void Claims::require_function(const Work& work) const {
  const std::string& wanted = work.settings.function;
  if (wanted.empty()) return;
  const std::string subject = describe(work.target->identity());
  if (work.bitstream) {
    const std::string& brings = work.bitstream->bitstream.function_id;
    if (brings != wanted)
      throw cage::Error(CAGE_INVALID_ARGUMENT, "bitstream '" + work.bitstream->name + "' has the function " +
                                                   (brings.empty() ? "(unknown)" : brings) + ", and the claim wants " +
                                                   wanted + "; name one of them only");
    return;
  }
  const Function loaded = work.target->function();
  if (loaded.id == wanted) return;
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    subject + " does not have the function " + wanted + ": " +
                        (loaded.id.empty() ? loaded.why : loaded.id + " is loaded") +
                        "; select devices by the attribute afuId, or name a bitstream with that function in the claim");
}

bool Claims::has_function(const Work& work) const {
  if (!work.bitstream) return true;
  const std::string& wanted = work.bitstream->bitstream.function_id;
  return !wanted.empty() && work.target->function().id == wanted && !fences_.find(work.target->identity());
}

// Returns whether containers can keep using what was prepared before.
bool Claims::is_ready(const Work& work) const {
  if (fences_.find(work.target->identity())) return false;
  if (work.loan) return work.loan->is_made();
  const bool is_loaded = !work.target->shows_function() || has_function(work);
  return is_loaded && work.target->functions_to_bind().empty();
}

void Claims::apply(const cage::Call& call, Work& work) {
  const Identity device = work.target->identity();
  const auto hold = locks_.take(call, device);
  const auto fence = fences_.find(device);
  const Duties owed = fence ? fence->owed : Duties();
  return_ports(call, work.target, work.duty);
  for (const Duty& duty : owed)
    if (work.target) return_ports(call, work.target, duty);
  if (!work.target) throw_gone(device.id);
  revive(call, work.target);
  for (const Duty& duty : owed) clean(call, *work.target, duty);
  work.target->bind(call);
  const bool loads =
      work.bitstream && (work.settings.always || !has_function(work) || !work.target->has_clock(call, *work.bitstream));
  if (loads) {
    when_idle(call, [&] { work.target->require_idle(call); });
    program(call, *work.target, *work.bitstream);
  } else if (work.target->reset_keeps_function()) {
    when_idle(call, [&] { work.target->reset(call); });
  }
  if (!work.loan) return;
  note_lent({work.duty});
  work.loan->make(call);
}

// Takes back the ports that the duty has given as virtual functions. The target has new numbers then, and is null if
// the card has gone.
void Claims::return_ports(const cage::Call& call, std::unique_ptr<Target>& target, const Duty& duty) const {
  if (duty.ports.empty()) return;
  const std::string id = target->identity().id;
  const PortLoan loan(tools_, target->identity(), duty.ports);
  when_idle(call, [&] { loan.undo(call); });
  target = find(call, id);
  tools_.lent->remove(duty.device);
}

void Claims::note_lent(const Duties& duties) const {
  for (const Duty& duty : duties)
    if (!duty.ports.empty()) tools_.lent->add(duty.device, duty.ports);
}

// Returns null if the device is not on this node. Binds the driver of a card that lost it when it was bound again.
std::unique_ptr<Target> Claims::find(const cage::Call& call, std::string_view device) const {
  auto target = find_target(tools_, device);
  if (target || !bind_lost(call, std::string(card_of(device)))) return target;
  return find_target(tools_, device);
}

bool Claims::bind_lost(const cage::Call& call, const std::string& card) const {
  const auto fenced = fences_.cards();
  const bool may_be_unbound = !tools_.lent->of(card).empty() || std::ranges::find(fenced, card) != fenced.end();
  if (!may_be_unbound || !lacks_driver(tools_, card)) return false;
  bind(call, tools_, card, card);
  return true;
}

// Enables a port that a failed programming has left disabled.
void Claims::revive(const cage::Call& call, std::unique_ptr<Target>& target) const {
  const std::string id = target->identity().id;
  if (!fences_.find(target->identity())) return;
  when_idle(call, [&] { target->require_revivable(call); });
  if (!target->revive(call)) return;
  target = find_target(tools_, id);
  if (!target) throw_gone(id);
}

void Claims::program(const cage::Call& call, const Target& target, const Entry& bitstream) {
  const Identity& device = target.identity();
  const auto before = fences_.find(device);
  const std::string loaded = target.function().id;
  call.progress("programming " + device.id + " with bitstream '" + bitstream.name + "'");
  Fence fence{.why = "it was being programmed with '" + bitstream.name + "', and it is unknown how that ended",
              .owed = before ? before->owed : Duties()};
  fences_.add(device, fence);
  bool has_clock = false;
  try {
    target.set_clock(call, bitstream);
    has_clock = true;
    target.program(call, bitstream);
    verify(call, target, bitstream);
  } catch (const cage::Error& error) {
    fence.why = error.what();
    const bool was_refused = error.status() == CAGE_FAILED_PRECONDITION || error.status() == CAGE_PERMISSION_DENIED;
    if (((!has_clock && was_refused) || changed_nothing(error, target, loaded)) && !before)
      fences_.remove(device);
    else
      fences_.add(device, fence);
    throw;
  }
  fences_.remove(device);
  if (!fence.owed.empty())
    fences_.add(device, {.why = before->why, .owed = fence.owed});  // until clean() has succeeded
  tools_.host.info() << "programmed " << device.id << " with bitstream '" << bitstream.name << "'";
}

void Claims::verify(const cage::Call& call, const Target& target, const Entry& bitstream) const {
  const std::string& wanted = bitstream.bitstream.function_id;
  if (wanted.empty() || !target.shows_function()) return;
  Function loaded;
  const auto has_function = [&] {
    loaded = target.function();
    return loaded.id == wanted;
  };
  if (call.wait_for(kFunctionLimit, kFunctionPollInterval, has_function)) return;
  throw cage::Error(CAGE_INTERNAL, describe(target.identity()) + " was programmed with bitstream '" + bitstream.name +
                                       "' and does not have its function " + wanted + ": " +
                                       (loaded.id.empty() ? loaded.why : loaded.id + " is loaded"));
}

void Claims::add_edits(const Work& work, cage::Edit edit) const {
  if (work.loan)
    work.loan->add_to(edit);
  else
    work.target->add_to(edit, work.bitstream ? &*work.bitstream : nullptr);
  std::string function = work.bitstream ? work.bitstream->bitstream.function_id : work.settings.function;
  if (function.empty()) function = work.target->function().id;
  edit.env(hardware::variable_of(work.target->identity().name), function);
}

// A device that is gone leaves nothing to release but the drivers that its functions had.
void Claims::release(const cage::Call& call, const Duty& duty, bool was_prepared) {
  auto target = find(call, duty.device);
  if (target) {
    const Identity device = target->identity();
    const auto hold = locks_.take(call, device);
    try {
      return_ports(call, target, duty);
      if (target) {
        revive(call, target);
        clean(call, *target, duty);
      }
    } catch (const cage::Error& error) {
      // Another process has the device, and the prepare of this claim failed for that reason.
      const bool is_foreign = !was_prepared && error.status() == CAGE_FAILED_PRECONDITION && !fences_.find(device);
      if (!is_foreign) {
        if (call.attempt() < kReleaseAttempts) throw;
        tools_.host.error() << "device '" << duty.device << "' is taken out of service: " << error.what();
        fences_.add(device,
                    {.why = std::string("it could not be cleaned after a claim: ") + error.what(), .owed = {duty}});
      }
    }
  }
  restore_drivers(call, duty);
  if (!target) tools_.lent->remove(duty.device);
}

void Claims::clean(const cage::Call& call, const Target& target, const Duty& duty) {
  call.progress("resetting " + duty.device);
  when_idle(call, [&] { target.reset(call); });
  if (!duty.scrub_program.empty()) scrub(call, target, duty);
  if (!duty.blank.empty()) program(call, target, catalogue_.find(duty.blank));
  clear_errors(call, target);
  if (const auto fence = fences_.find(target.identity()); fence && !fence->owed.empty())
    fences_.remove(target.identity());
}

// Errors that cannot be cleared count as long as they stand; a card that is too hot keeps its errors.
void Claims::clear_errors(const cage::Call& call, const Target& target) const {
  try {
    target.clear_errors(call);
  } catch (const cage::Error& error) {
    tools_.host.warn() << error.what();
  }
}

void Claims::scrub(const cage::Call& call, const Target& target, const Duty& duty) {
  if (!duty.scrub_bitstream.empty()) program(call, target, catalogue_.find(duty.scrub_bitstream));
  call.progress("scrubbing " + duty.device);
  const cage::ProgramResult done = tools_.host.run(
      call,
      {.name = duty.scrub_program, .arguments = {duty.device}, .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}});
  if (done.exit_status == 0) return;
  throw cage::Error(
      CAGE_INTERNAL,
      "the scrub program '" + duty.scrub_program + "' did not clean device '" + duty.device +
          "': " + (done.timed_out ? "it took too long" : "it exited with status " + std::to_string(done.exit_status)) +
          (done.err.empty() ? "" : ": " + done.err));
}

// A step that fails here is repeated when the claim is released, from its journal.
void Claims::try_to_restore(const cage::Call& call, const Duties& duties) {
  for (const Duty& duty : duties) {
    try {
      if (auto target = duty.ports.empty() ? nullptr : find(call, duty.device)) {
        const auto hold = locks_.take(call, target->identity());
        return_ports(call, target, duty);
      }
      restore_drivers(call, duty);
    } catch (const std::exception& error) {
      tools_.host.warn() << "after a prepare that failed: " << error.what();
    }
  }
}

void Claims::restore_drivers(const cage::Call& call, const Duty& duty) const {
  for (const std::string& function : duty.functions) {
    try {
      tools_.passthrough.take_back(call, duty.device, function);
    } catch (const cage::Error& error) {
      if (error.status() != CAGE_PERMISSION_DENIED) throw;
      tools_.host.warn() << "the module may not bind " << function << " to a driver, so it did not";
    }
  }
}

// A daemon that was killed may have left a card without its driver, too.
void Claims::reconcile(const cage::Call& call, const std::vector<cage::Claim>& live) const {
  Duties held = fences_.owed();
  for (const cage::Claim& claim : live) held = merge(std::move(held), duties_of(claim));
  note_lent(held);
  if (!held.empty()) tools_.host.rescan();
  for (const std::string& card : fences_.cards()) {
    try {
      bind_lost(call, card);
    } catch (const cage::Error& error) {
      tools_.host.warn() << "card " << card << " does not get its driver back: " << error.what();
    }
  }
}

}  // namespace cardcage::fpga
