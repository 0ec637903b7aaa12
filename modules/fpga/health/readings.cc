#include "modules/fpga/health/readings.h"

#include <algorithm>
#include <string_view>

#include "modules/common/kernel_files.h"
#include "modules/common/text.h"
#include "modules/fpga/dfl/card.h"
#include "modules/fpga/xrt/alveo.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;
using hardware::names_in;
using hardware::number_in;
using hardware::text_in;

// Returns the first function that is lost; empty if none is.
std::string lost_function_of(const hardware::Node& node, const std::vector<std::string>& functions) {
  const auto found =
      std::ranges::find_if(functions, [&](const auto& one) { return hardware::is_lost(node.sysfs, one); });
  return found == functions.end() ? std::string() : *found;
}

// Reads a signed number, since a temperature may be below zero.
std::optional<double> scaled_in(const fs::path& file, double divisor) {
  const auto number = hardware::number_of<long long>(text_in(file));
  return number ? std::optional(static_cast<double>(*number) / divisor) : std::nullopt;
}

std::optional<double> limit_in(const fs::path& file, double divisor) {
  const auto limit = scaled_in(file, divisor);
  return limit && *limit > 0 ? limit : std::nullopt;
}

bool is_set(const fs::path& file) { return number_in(file).value_or(0) != 0; }

struct SensorKind {
  std::string_view prefix;
  double divisor;
};
constexpr SensorKind kTemperature{"temp", 1e3}, kPower{"power", 1e6};

// Reads the files of a sensor such as "temp1" in the folder of its chip.
std::optional<Sensor> read_sensor(const fs::path& chip, const std::string& channel, double divisor) {
  const auto file = [&](const char* attribute) { return chip / (channel + attribute); };
  const auto value = scaled_in(file("_input"), divisor);
  if (!value) return std::nullopt;
  const std::string label = text_in(file("_label"));
  return Sensor{.chip = text_in(chip / "name"),
                .name = label.empty() ? channel : label,
                .value = *value,
                .max = limit_in(file("_max"), divisor),
                .crit = limit_in(file("_crit"), divisor),
                .max_alarm = is_set(file("_max_alarm")) || is_set(file("_alarm")),
                .crit_alarm = is_set(file("_crit_alarm")) || is_set(file("_emergency_alarm"))};
}

// Adds each sensor name once: chips of one card may be alike.
void read_chip(const fs::path& chip, SensorKind kind, std::vector<Sensor>& sensors) {
  constexpr std::string_view kInput = "_input";
  for (const std::string& file : names_in(chip)) {
    if (!file.starts_with(kind.prefix) || !file.ends_with(kInput)) continue;
    auto sensor = read_sensor(chip, file.substr(0, file.size() - kInput.size()), kind.divisor);
    const auto is_same = [&](const Sensor& one) { return one.chip == sensor->chip && one.name == sensor->name; };
    if (sensor && std::ranges::none_of(sensors, is_same)) sensors.push_back(std::move(*sensor));
  }
}

// Reads all chips whose devices are somewhere below the function, such as behind an SPI bus of the card.
void read_sensors(const hardware::Node& node, const std::string& bus_id, Readings& readings) {
  const fs::path chips = node.sysfs / "class/hwmon";
  std::error_code error;
  const std::string function = fs::canonical(hardware::path_of(node.sysfs, bus_id), error).native() + "/";
  if (error) return;
  for (const std::string& name : names_in(chips)) {
    const fs::path chip = fs::canonical(chips / name, error);
    if (error || !chip.native().starts_with(function)) continue;
    read_chip(chip, kTemperature, readings.temperatures);
    read_chip(chip, kPower, readings.powers);
  }
}

PortReadings port_readings(const std::string& bus_id, const DflPort& port) {
  return {.device = bus_id + "/port-" + std::to_string(port.number),
          .node = port.node,
          .number = port.number,
          .has_function = port.has_function,
          .errors = number_in(port.folder / "errors/errors"),
          .first_error = number_in(port.folder / "errors/first_error"),
          .power_state = number_in(port.folder / "power_state"),
          .ap1_event = is_set(port.folder / "ap1_event"),
          .ap2_event = is_set(port.folder / "ap2_event")};
}

EngineReadings engine_readings(const DflCard& card) {
  const DflEngine& engine = *card.engine;
  const fs::path errors = engine.folder / "errors";
  return {.node = engine.node,
          .is_documented = std::ranges::any_of(card.ports, &DflPort::has_function),
          .catfatal = number_in(errors / "catfatal_errors"),
          .nonfatal = number_in(errors / "nonfatal_errors"),
          .fme = number_in(errors / "fme_errors"),
          .pcie0 = number_in(errors / "pcie0_errors"),
          .pcie1 = number_in(errors / "pcie1_errors"),
          .interface_id = engine.interface_id};
}

void read_manager(const fs::path& manager, Readings& readings) {
  readings.manager_state = text_in(manager / "state");
  readings.manager_status = text_in(manager / "status");
}

Readings read_dfl(const hardware::Node& node, const std::string& bus_id) {
  Readings readings;
  readings.lost_function = lost_function_of(node, {bus_id});
  if (!readings.lost_function->empty()) return readings;
  readings.link = hardware::link_of(node.sysfs, bus_id);
  readings.errors = hardware::errors_of(node.sysfs, bus_id);
  const auto card = read_dfl_card(node, bus_id);
  if (!card) return readings;
  for (const DflPort& port : card->ports) readings.ports.push_back(port_readings(bus_id, port));
  if (card->engine) {
    readings.engine = engine_readings(*card);
    if (!card->engine->manager.empty()) read_manager(card->engine->manager, readings);
  }
  read_sensors(node, bus_id, readings);
  return readings;
}

void add(hardware::PciErrors& sum, const hardware::PciErrors& more) {
  const auto add_one = [](std::optional<std::uint64_t>& one, const std::optional<std::uint64_t>& other) {
    if (other) one = one.value_or(0) + *other;
  };
  add_one(sum.correctable, more.correctable);
  add_one(sum.nonfatal, more.nonfatal);
  add_one(sum.fatal, more.fatal);
}

XrtReadings read_xrt(const fs::path& user) {
  return {.ready = text_in(user / "ready"),
          .offline = text_in(user / "dev_offline"),
          .bad_state = text_in(user / "device_bad_state"),
          .shutdown = text_in(user / "shutdown"),
          .firewall_status = {},
          .firewall_level = {},
          .design = text_in(user / "xclbinuuid"),
          .calibration = number_in(user / "mig_calibration")};
}

void read_firewall(const fs::path& management, XrtReadings& xrt) {
  for (const std::string& name : names_in(management)) {
    if (!name.starts_with("firewall.m.")) continue;
    xrt.firewall_status = number_in(management / name / "status");
    xrt.firewall_level = number_in(management / name / "level");
  }
}

Readings read_alveo(const hardware::Node& node, const std::string& bus_id) {
  const std::string management = management_function_of(node, bus_id);
  std::vector<std::string> functions{bus_id};
  if (!management.empty()) functions.push_back(management);
  Readings readings;
  readings.lost_function = lost_function_of(node, functions);
  if (!readings.lost_function->empty()) return readings;
  readings.link = hardware::link_of(node.sysfs, bus_id);
  for (const std::string& function : functions) add(readings.errors, hardware::errors_of(node.sysfs, function));
  readings.xrt = read_xrt(hardware::path_of(node.sysfs, bus_id));
  if (!management.empty()) {
    read_firewall(hardware::path_of(node.sysfs, management), *readings.xrt);
    read_sensors(node, management, readings);
  }
  // The driver of the user function asks the driver of the management function for each value, which is slow.
  if (readings.temperatures.empty() && readings.powers.empty()) read_sensors(node, bus_id, readings);
  return readings;
}

Readings read_bare_manager(const hardware::Node& node, std::string_view card) {
  Readings readings;
  const fs::path managers = node.sysfs / "class/fpga_manager";
  const std::string_view device = card.substr(card.rfind('/') + 1);  // npos + 1 is 0
  std::error_code error;
  for (const std::string& name : names_in(managers))
    if (fs::canonical(managers / name / "device", error).filename() == device) read_manager(managers / name, readings);
  return readings;
}

}  // namespace

Readings read_health(const hardware::Node& node, const Identity& target) {
  if (target.kind == "alveo") return read_alveo(node, target.bus_id);
  if (target.kind == "manager") return read_bare_manager(node, target.card);
  return read_dfl(node, target.card);
}

}  // namespace cardcage::fpga
