#include "host/supervision/module_devices.h"

#include <utility>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

CauseHealth reset_health(const Device& device, std::chrono::system_clock::time_point now) {
  return {.health = {.reason = "Resetting",
                     .message = fmt::format("device '{}' is being reset", device.name),
                     .taint = TaintEffect::kNoSchedule,
                     .cause = "Reset"},
          .changed = now};
}

std::string quiesced_text(const std::string& module, const QuiesceMark& mark) {
  return fmt::format("quiesced {2}; 'cagectl module resume {0} {1}' takes it back into service", module, mark.device,
                     to_string(mark));
}

// Returns the health that a stuck access gives the device: its own access, or that of the device that it is a part of.
std::optional<CauseHealth> health_while_stuck(const SupervisedModule& module, const Device& device) {
  const auto& stuck_of = module.listener.stuck;
  if (!stuck_of) return std::nullopt;
  auto stuck = stuck_of(module.name(), device.id);
  return stuck || device.parent_id.empty() ? stuck : stuck_of(module.name(), device.parent_id);
}

}  // namespace

ModuleDevices::ModuleDevices(SupervisedModule& module, HealthStore& records)
    : module_(module),
      statements_(module.name(), module.clock, records, module.listener.health_event),
      list_(module.name(), module.clock, statements_) {}

Result<Device> ModuleDevices::find(const std::string& name_or_id) const {
  const Device* partition = nullptr;
  if (snapshot())
    for (const Device& device : snapshot()->devices) {
      if (device.name == name_or_id || device.id == name_or_id) return device;
      if (device.parent_id == name_or_id) partition = &device;
    }
  if (partition) return Device{.id = partition->parent_id, .name = partition->parent_id};
  return fail(Code::kNotFound, "module '{}' has no device '{}'; 'cagectl devices' lists them", module_.name(),
              name_or_id);
}

DeviceHealth ModuleDevices::health(const Device& device) const {
  auto away = module_.life.quiesced() ? std::nullopt : health_while_quiesced(device);
  return health(device, away ? std::move(away) : module_.life.health_while_away());
}

DeviceHealth ModuleDevices::reported_health(const Device& device) const {
  return health(device, health_while_quiesced(device));
}

DeviceHealth ModuleDevices::health(const Device& device, std::optional<CauseHealth> away) const {
  std::vector<CauseHealth> others;
  const bool is_away = away.has_value();
  if (away) others.push_back(*std::move(away));
  if (auto stuck = health_while_stuck(module_, device)) others.push_back(*std::move(stuck));
  if (auto replaced = health_while_replaced(device)) others.push_back(*std::move(replaced));
  if (is_being_reset(device)) others.push_back(reset_health(device, module_.clock.wall()));
  return statements_.health(device, std::move(others), is_away);
}

std::string ModuleDevices::why_withheld(const Device& device) const {
  if (is_being_reset(device)) return "it is being reset";
  const QuiesceMark* const mark = mark_of(device);
  return mark ? "it is " + quiesced_text(module_.name(), *mark) : "";
}

bool ModuleDevices::is_being_reset(const Device& device) const {
  return !being_reset_.empty() && (device.id == being_reset_ || device.parent_id == being_reset_);
}

const QuiesceMark* ModuleDevices::mark_of(const Device& device) const {
  const QuiesceMark* const mark = module_.marks.find(module_.name(), device.id);
  return mark || device.parent_id.empty() ? mark : module_.marks.find(module_.name(), device.parent_id);
}

std::string ModuleDevices::quiesced_warning() const {
  const auto marks = module_.marks.of_devices(module_.name());
  if (marks.empty()) return "";
  return fmt::format("module '{}': device '{}' is {}{}", module_.name(), marks.front().device,
                     quiesced_text(module_.name(), marks.front()),
                     marks.size() == 1 ? "" : fmt::format("; {} more, see 'cagectl devices'", marks.size() - 1));
}

std::string ModuleDevices::left_out_warning() const {
  if (!snapshot() || snapshot()->left_out.empty()) return "";
  const auto& [id, why] = *snapshot()->left_out.begin();
  const std::size_t others = snapshot()->left_out.size() - 1;
  const std::string more = others == 0 ? "" : fmt::format("; {} more, see the log", others);
  return fmt::format("module '{}' lists device '{}', which is left out: {}{}", module_.name(), id, why, more);
}

std::optional<CauseHealth> ModuleDevices::health_while_quiesced(const Device& device) const {
  const QuiesceMark* const mark = mark_of(device);
  return mark ? std::optional(quiesced_health("it is " + quiesced_text(module_.name(), *mark), mark->since))
              : std::nullopt;
}

// Lasts until the other device is released: its claim has the health of the name, and its containers may reach this
// device.
std::optional<CauseHealth> ModuleDevices::health_while_replaced(const Device& device) const {
  const auto& replaced = module_.listener.replaced;
  if (!replaced) return std::nullopt;
  std::string why = replaced(module_.name(), device);
  const Device* const whole = snapshot() ? snapshot()->find(device.parent_id) : nullptr;
  if (why.empty() && whole) why = replaced(module_.name(), *whole);
  if (why.empty()) return std::nullopt;
  return CauseHealth{.health = {.state = HealthState::kUnhealthy,
                                .reason = "Replaced",
                                .message = cut_utf8(why, kMaxHealthMessage),
                                .taint = TaintEffect::kNoSchedule,
                                .cause = "Replaced"},
                     .changed = statements_.health(device).changed};
}

}  // namespace cardcage
