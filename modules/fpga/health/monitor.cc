#include "modules/fpga/health/monitor.h"

#include <set>
#include <utility>

#include "modules/fpga/health/declared_causes.h"

namespace cardcage::fpga {
namespace {

cage::Health health_of(const Cause& cause, const Finding& finding) {
  cage::Health health = cage::Health::ok();
  if (finding.grade != Grade::kWell) {
    const bool is_bad = finding.grade == Grade::kBad;
    health = is_bad ? cage::Health::bad(finding.reason, finding.message)
                    : cage::Health::degraded(finding.reason, finding.message);
    health = health.tainted(is_bad ? cage::Taint::no_schedule : cage::Taint::inform, taint_key_of(cause.name));
  }
  health.value = finding.value;
  return health.about(cause.name);
}

void count(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more,
           const std::optional<std::uint64_t>& first) {
  sum = sum ? *sum + more.value_or(0) : first;
}

// Keeps the readings that concern the device: a port has its own errors, any other device those of all ports of its
// card.
Readings concerning(Readings now, const Identity& device) {
  if (device.kind == "port")
    std::erase_if(now.ports, [&](const PortReadings& port) { return port.device != device.id; });
  return now;
}

}  // namespace

void Monitor::look(const Targets& targets) {
  std::map<std::string, Card> before = std::exchange(cards_, {});
  for (const auto& target : targets) {
    const Identity& about = target->identity();
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
  // The kernel blocks most of these reads until a running programming has ended.
  card.is_fresh = run_if_unchanged_(target, [&] {
    const Readings last = std::exchange(card.now, read_health(tools_.node, target.identity()));
    compare(card, last);
  });
  card.was_changed = !card.is_fresh;
  return card;
}

void Monitor::compare(Card& card, const Readings& before) const {
  Readings& now = card.now;
  if (now.lost_function && !now.lost_function->empty()) return;
  const hardware::PciErrors last = card.is_known ? before.errors : now.errors;
  hardware::PciErrors& more = now.new_errors;
  more = hardware::new_errors(last, now.errors);
  count(card.pcie_errors.correctable, more.correctable, now.errors.correctable);
  count(card.pcie_errors.nonfatal, more.nonfatal, now.errors.nonfatal);
  count(card.pcie_errors.fatal, more.fatal, now.errors.fatal);
  // A reset of the card takes its link down, which is not a fault.
  if (card.was_changed)
    for (std::optional<std::uint64_t>* number : {&more.correctable, &more.nonfatal, &more.fatal})
      if (*number) *number = 0;
  if (more.correctable)
    now.corrected_errors =
        static_cast<double>(*more.correctable) * (std::chrono::minutes(1) / std::chrono::duration<double>(interval_));
  card.is_known = true;
  if (!now.xrt) return;
  if (now.xrt->calibration.value_or(0) != 0) card.calibrated_design = now.xrt->design;
  now.lost_calibration =
      now.xrt->calibration == 0 && !now.xrt->design.empty() && now.xrt->design == card.calibrated_design;
}

void Monitor::judge(const Identity& device, Readings now) {
  now = concerning(std::move(now), device);
  for (const Cause& cause : health_causes())
    if (const auto found = cause.judge(now)) statements_.state(device.id, health_of(cause, *found));
}

void Monitor::start_anew(const std::string& card, const Targets& targets) {
  for (const auto& target : targets)
    if (target->identity().card == card) statements_.forget(target->identity().id);
  cards_[card].was_changed = true;
  look(targets);
}

void Monitor::notice_function(const Target& target) {
  const auto listed = functions_.find(target.identity().id);
  const std::string function = target.function().id;
  // A device without a function is being changed, or its driver will tell the reason soon.
  if (listed == functions_.end() || function.empty() || function == listed->second) return;
  listed->second = function;
  tools_.host.rescan();
}

void Monitor::list(const Targets& targets) {
  functions_.clear();
  std::set<std::string> ids;
  for (const auto& target : targets) {
    const std::string& id = target->identity().id;
    functions_[id] = target->function().id;
    ids.insert(id);
  }
  statements_.keep(ids);
}

}  // namespace cardcage::fpga
