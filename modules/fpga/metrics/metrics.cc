#include "modules/fpga/metrics/metrics.h"

#include <bit>
#include <cstdint>
#include <optional>

namespace cardcage::fpga {
namespace {

using Number = std::optional<std::uint64_t>;

// Returns nothing for a state that is not documented.
std::optional<double> throttling_in(std::uint64_t power_state) {
  switch (power_state) {
    case 0: return 0;
    case 1: return 0.5;
    case 2: return 0.9;
    case 6: return 1;
    default: return std::nullopt;
  }
}

void report_ports(const std::string& card, const Monitor::Card& seen, cage::Samples& samples) {
  for (const PortReadings& port : seen.now.ports) {
    const std::string& device = port.has_function ? port.device : seen.only_device;
    const std::string number = std::to_string(port.number);
    if (port.errors) samples.add(figures::port_errors, device, std::popcount(*port.errors), card, number);
    const auto ratio = port.power_state ? throttling_in(*port.power_state) : std::nullopt;
    if (ratio) samples.add(figures::throttling, device, *ratio, card, number);
  }
}

void report_card(const std::string& card, const Monitor::Card& seen, cage::Samples& samples) {
  constexpr double kGiga = 1e9;
  const Readings& now = seen.now;
  const std::string& device = seen.only_device;
  for (const Sensor& one : now.temperatures)
    samples.add(figures::temperature, device, one.value, card, one.chip, one.name);
  for (const Sensor& one : now.powers) samples.add(figures::power, device, one.value, card, one.chip, one.name);
  if (now.link.width) samples.add(figures::link_width, device, *now.link.width, card);
  if (now.link.speed) samples.add(figures::link_speed, device, *now.link.speed * kGiga, card);
  const auto add_errors = [&](const char* severity, const Number& count) {
    if (count) samples.add(figures::pcie_errors, device, static_cast<double>(*count), card, severity);
  };
  add_errors("correctable", seen.pcie_errors.correctable);
  add_errors("nonfatal", seen.pcie_errors.nonfatal);
  add_errors("fatal", seen.pcie_errors.fatal);
  if (!now.engine) return;
  const auto add_register = [&](const char* name, const Number& value) {
    if (value) samples.add(figures::engine_errors, device, std::popcount(*value), card, name);
  };
  add_register("catfatal", now.engine->catfatal);
  add_register("nonfatal", now.engine->nonfatal);
  add_register("fme", now.engine->fme);
  add_register("pcie0", now.engine->pcie0);
  add_register("pcie1", now.engine->pcie1);
}

}  // namespace

void report_metrics(const std::map<std::string, Monitor::Card>& cards, cage::Samples& samples) {
  for (const auto& [card, seen] : cards) {
    report_card(card, seen, samples);
    report_ports(card, seen, samples);
  }
}

}  // namespace cardcage::fpga
