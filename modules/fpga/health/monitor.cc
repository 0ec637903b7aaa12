#include "modules/fpga/health/monitor.h"

#include <utility>

namespace cardcage::fpga {
namespace {

cage::Health health_of(const Cause& cause, const Finding& finding) {
  if (finding.grade == Grade::kBad)
    return cage::Health::bad(finding.reason, finding.message)
        .tainted(cage::Taint::no_schedule, cause.taint)
        .about(cause.name);
  cage::Health health = cage::Health::ok().about(cause.name);
  if (finding.grade == Grade::kWell) return health;
  health.reason = finding.reason;
  health.message = finding.message;
  return health.tainted(cage::Taint::inform, cause.taint);
}

// Nothing if it cannot be known. A counter that has fallen was made anew with its device.
std::optional<std::uint64_t> increase(std::optional<std::uint64_t> before, std::optional<std::uint64_t> now) {
  if (!before || !now) return std::nullopt;
  return *now >= *before ? *now - *before : *now;
}

void count(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more,
           const std::optional<std::uint64_t>& first) {
  sum = sum ? *sum + more.value_or(0) : first;
}

// A port has its own errors; any other device has those of all ports of its card.
Readings concerning(Readings now, const Identity& device) {
  if (device.kind == "port")
    std::erase_if(now.ports, [&](const PortReadings& port) { return port.device != device.id; });
  return now;
}

}  // namespace

void Monitor::look(const Targets& targets) {
  std::map<std::string, Card> before = std::exchange(cards_, {});
  std::map<std::string, std::map<std::string, Judged>> judged_before = std::exchange(judged_, {});
  for (const auto& target : targets) {
    const Identity& about = target->identity();
    if (auto known = judged_before.find(about.id); known != judged_before.end())
      judged_[about.id] = std::move(known->second);
    const bool is_first = !cards_.contains(about.card);
    if (is_first) cards_.emplace(about.card, look_at(*target, std::move(before[about.card])));
    Card& card = cards_.at(about.card);
    card.only_device = is_first ? about.id : std::string();
    if (!card.is_fresh) continue;
    judge(about, card.now);
    notice_function(*target);
  }
}

Monitor::Card Monitor::look_at(const Target& target, Card before) const {
  Card card = std::move(before);
  // The kernel lets most of this wait until a programming that has begun is over.
  card.is_fresh = run_if_unchanged_(target, [&] {
    const Readings last = std::exchange(card.now, read_health(tools_.node, target.identity()));
    compare(card, last);
  });
  card.was_changed = !card.is_fresh;
  return card;
}

void Monitor::compare(Card& card, const Readings& before) {
  Readings& now = card.now;
  if (now.lost_function && !now.lost_function->empty()) return;
  const hardware::PciErrors last = card.is_known ? before.errors : now.errors;
  hardware::PciErrors& more = now.new_errors;
  more = {.correctable = increase(last.correctable, now.errors.correctable),
          .nonfatal = increase(last.nonfatal, now.errors.nonfatal),
          .fatal = increase(last.fatal, now.errors.fatal)};
  count(card.pcie_errors.correctable, more.correctable, now.errors.correctable);
  count(card.pcie_errors.nonfatal, more.nonfatal, now.errors.nonfatal);
  count(card.pcie_errors.fatal, more.fatal, now.errors.fatal);
  // A reset of the card takes its link down, which is no fault.
  if (card.was_changed) more = {};
  card.is_known = true;
  if (!now.xrt) return;
  if (now.xrt->calibration.value_or(0) != 0) card.calibrated_design = now.xrt->design;
  now.lost_calibration =
      now.xrt->calibration == 0 && !now.xrt->design.empty() && now.xrt->design == card.calibrated_design;
}

void Monitor::judge(const Identity& device, Readings now) {
  now = concerning(std::move(now), device);
  for (const Cause& cause : health_causes()) {
    if (auto found = cause.judge(now)) judge_cause(device.id, cause, std::move(*found));
  }
}

void Monitor::judge_cause(const std::string& device, const Cause& cause, Finding found) {
  Judged& judged = judged_[device][cause.name];
  judged.looks = found.reason == judged.next ? judged.looks + 1 : 1;
  judged.next = found.reason;
  const int needed = found.grade < judged.counts.grade ? cause.ends : cause.begins;
  const bool is_same = found.reason == judged.counts.reason;
  if (!is_same && judged.looks < needed) return;  // what was stated before holds
  const bool is_news =
      !judged.is_stated || !is_same || (cause.follows_message && found.message != judged.counts.message);
  if (!is_news) return;
  judged.counts = std::move(found);
  judged.is_stated = true;
  tools_.host.health(device, health_of(cause, judged.counts));
}

void Monitor::notice_function(const Target& target) {
  const auto listed = functions_.find(target.identity().id);
  const std::string function = target.function().id;
  // Without a function it is being changed, or its driver is about to tell why not.
  if (listed == functions_.end() || function.empty() || function == listed->second) return;
  listed->second = function;
  tools_.host.rescan();
}

void Monitor::list(const Targets& targets) {
  functions_.clear();
  std::map<std::string, std::map<std::string, Judged>> judged_before = std::exchange(judged_, {});
  for (const auto& target : targets) {
    const std::string& id = target->identity().id;
    functions_[id] = target->function().id;
    if (auto known = judged_before.find(id); known != judged_before.end()) judged_[id] = std::move(known->second);
  }
}

}  // namespace cardcage::fpga
