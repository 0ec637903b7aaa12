#include "modules/fpga/claims.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <exception>

#include "modules/fpga/inventory.h"

namespace cardcage::fpga {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{20};
constexpr milliseconds kIdleLimit{3000};      // for the end of processes whose container was killed
constexpr milliseconds kFunctionLimit{2000};  // for a port that was just programmed to be enabled
// After so many attempts a device that cannot be cleaned is fenced, so that its pod can go.
constexpr std::uint32_t kReleaseAttempts = 3;

std::string describe(const Identity& device) {
  const std::string model = device.model.empty() ? std::string() : " (" + device.model + ")";
  return "device '" + device.id + "'" + model;
}

// "FPGA_0000_3B_00_0_P0" of "fpga-0000-3b-00-0-p0". Each device has its own, because a container may have several.
std::string variable_of(const Identity& device) {
  std::string name = device.name;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Duties duties_of(const cage::Claim& claim) {
  return merge(decode_duties(claim.state()), decode_duties(claim.journal()));
}

// A program of the bitstream's hardware did not begin.
bool changed_nothing(const cage::Error& error) {
  return error.status() == CAGE_DATA_LOSS || error.status() == CAGE_PERMISSION_DENIED ||
         error.status() == CAGE_INVALID_ARGUMENT || error.status() == CAGE_UNAVAILABLE;
}

}  // namespace

void Claims::prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) {
  const Duties before = duties_of(claim);
  // Containers may be using what was prepared before.
  const bool is_in_use = !claim.state().empty() && !claim.other_boot();
  std::vector<Work> all;
  Duties duties = before;
  for (const cage::Allocation& allocation : claim.allocations()) {
    all.push_back(plan(allocation));
    if (!allocation.admin()) duties = merge(std::move(duties), {all.back().duty});
  }
  if (duties != before) edits.journal(encode(duties));
  try {
    for (Work& work : all)
      if (!work.allocation.admin() && !is_in_use) apply(call, work);
  } catch (...) {
    if (!is_in_use) try_to_restore(call, duties);
    tools_.host.rescan();
    throw;
  }
  if (!is_in_use) tools_.host.rescan();  // the functions of devices are attributes
  for (const Work& work : all) add_edits(work, edits.of(work.allocation));
  edits.save("prepared\n" + encode(duties));
}

void Claims::unprepare(const cage::Call& call, const cage::Claim& claim) {
  for (const Duty& duty : duties_of(claim)) release(call, duty);
}

void Claims::pre_start(const cage::Call& call, const cage::Claim& claim) {
  for (const Duty& duty : duties_of(claim)) {
    const auto target = find_target(tools_, duty.device);
    if (!target) throw cage::Error(CAGE_NOT_FOUND, "device '" + duty.device + "' is not on this node any more");
    const auto hold = locks_.take(call, target->identity().card);
    if (target->reset_keeps_function()) reset_when_idle(call, *target);
    target->clear_errors(call);
  }
}

// Checks everything that can be known before the hardware is touched.
Claims::Work Claims::plan(const cage::Allocation& allocation) const {
  Work work{.allocation = allocation,
            .target = find_target(tools_, allocation.device()),
            .settings = settings_of(allocation),
            .bitstream = std::nullopt,
            .duty = {}};
  if (!work.target)
    throw cage::Error(CAGE_NOT_FOUND, "device '" + std::string(allocation.device()) + "' is not on this node any more");
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
  require_function(work);
  work.duty = {.device = work.target->identity().id,
               .loaded = settings.bitstream,
               .blank = settings.blank,
               .scrub_bitstream = settings.scrub_bitstream,
               .scrub_program = settings.scrub_program,
               .functions = work.target->functions_to_bind()};
  return work;
}

// A bitstream brings a fenced device back.
void Claims::require_usable(const Work& work) const {
  const Identity& device = work.target->identity();
  if (const auto why = fences_.find(device))
    throw cage::Error(CAGE_UNAVAILABLE,
                      describe(device) + " must be programmed anew: " + *why + "; name a bitstream in the claim");
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

void Claims::apply(const cage::Call& call, Work& work) {
  const auto hold = locks_.take(call, work.target->identity().card);
  revive(call, work.target);
  work.target->bind(call);
  if (work.bitstream || work.target->reset_keeps_function()) reset_when_idle(call, *work.target);
  if (work.bitstream && (work.settings.always || !has_function(work))) program(call, *work.target, *work.bitstream);
}

// A programming that failed may have left it disabled.
void Claims::revive(const cage::Call& call, std::unique_ptr<Target>& target) const {
  const std::string id = target->identity().id;
  if (!fences_.find(target->identity()) || !target->revive(call)) return;
  target = find_target(tools_, id);
  if (!target) throw cage::Error(CAGE_NOT_FOUND, "device '" + id + "' is not on this node any more");
}

void Claims::program(const cage::Call& call, const Target& target, const Entry& bitstream) {
  const Identity& device = target.identity();
  const bool was_fenced = fences_.find(device).has_value();
  call.progress("programming " + device.id + " with bitstream '" + bitstream.name + "'");
  fences_.add(device.id, "it was being programmed with '" + bitstream.name + "', and nobody knows how that ended");
  try {
    target.program(call, bitstream);
    verify(call, target, bitstream);
  } catch (const cage::Error& error) {
    if (changed_nothing(error) && !was_fenced)
      fences_.remove(device);
    else
      fences_.add(device.id, error.what());
    throw;
  }
  fences_.remove(device);
  tools_.host.info() << "programmed " << device.id << " with bitstream '" << bitstream.name << "'";
}

void Claims::verify(const cage::Call& call, const Target& target, const Entry& bitstream) const {
  const std::string& wanted = bitstream.bitstream.function_id;
  if (wanted.empty() || !target.shows_function()) return;
  const auto end = cage::Call::Clock::now() + kFunctionLimit;
  Function loaded = target.function();
  while (loaded.id != wanted && cage::Call::Clock::now() < end) {
    call.sleep(kLook);
    loaded = target.function();
  }
  if (loaded.id == wanted) return;
  throw cage::Error(CAGE_INTERNAL, describe(target.identity()) + " was programmed with bitstream '" + bitstream.name +
                                       "' and does not have its function " + wanted + ": " +
                                       (loaded.id.empty() ? loaded.why : loaded.id + " is loaded"));
}

void Claims::add_edits(const Work& work, cage::Edit edit) const {
  work.target->add_to(edit, work.bitstream ? &*work.bitstream : nullptr);
  std::string function = work.target->function().id;
  if (function.empty() && work.bitstream) function = work.bitstream->bitstream.function_id;
  edit.env(variable_of(work.target->identity()), function);
}

// A device that is gone has taken everything with it but the memory of its drivers.
void Claims::release(const cage::Call& call, const Duty& duty) {
  auto target = find_target(tools_, duty.device);
  if (target) {
    const auto hold = locks_.take(call, target->identity().card);
    try {
      revive(call, target);
      clean(call, *target, duty);
    } catch (const cage::Error& error) {
      if (call.attempt() < kReleaseAttempts) throw;
      tools_.host.error() << "device '" << duty.device << "' is taken out of service: " << error.what();
      fences_.add(duty.device, std::string("it could not be cleaned after a claim: ") + error.what());
    }
  }
  restore_drivers(call, duty);
  tools_.host.rescan();
}

void Claims::clean(const cage::Call& call, const Target& target, const Duty& duty) {
  call.progress("resetting " + duty.device);
  reset_when_idle(call, target);
  if (!duty.scrub_program.empty()) scrub(call, target, duty);
  if (!duty.blank.empty()) program(call, target, catalogue_.find(duty.blank));
  target.clear_errors(call);
}

void Claims::reset_when_idle(const cage::Call& call, const Target& target) const {
  const auto end = cage::Call::Clock::now() + kIdleLimit;
  for (;;) {
    try {
      return target.reset(call);
    } catch (const cage::Error& error) {
      if (error.status() != CAGE_FAILED_PRECONDITION || cage::Call::Clock::now() >= end) throw;
    }
    call.sleep(kLook);
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

// What fails here is done when the claim is released: the journal has it.
void Claims::try_to_restore(const cage::Call& call, const Duties& duties) {
  for (const Duty& duty : duties) {
    try {
      restore_drivers(call, duty);
    } catch (const std::exception& error) {
      tools_.host.warn() << "after a prepare that failed: " << error.what();
    }
  }
}

void Claims::restore_drivers(const cage::Call& call, const Duty& duty) const {
  for (const std::string& function : duty.functions) tools_.passthrough.take_back(call, duty.device, function);
}

}  // namespace cardcage::fpga
