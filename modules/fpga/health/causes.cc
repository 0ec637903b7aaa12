#include "modules/fpga/health/causes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "modules/fpga/health/declared_causes.h"
#include "modules/fpga/health/error_bits.h"

namespace cardcage::fpga {
namespace {

using Result = std::optional<Finding>;

constexpr const char *kLookAtSlot = "; look at the slot and the seating of the card",
                     *kLookAtCooling = "look at the cooling of the card and the node";

Finding well() { return {}; }
Finding marked(const char* reason, std::string message) { return {Grade::kMarked, reason, std::move(message)}; }
Finding bad(const char* reason, std::string message) { return {Grade::kBad, reason, std::move(message)}; }
Finding measured(Finding finding, double value) {
  finding.value = value;
  return finding;
}

std::span<const ErrorBit> if_documented(bool is_documented, std::span<const ErrorBit> bits) {
  return is_documented ? bits : std::span<const ErrorBit>();
}

// "101.5"
std::string decimal(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  std::string number = text.data();
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number;
}

Result judge_access(const Readings& now) {
  if (!now.lost_function) return std::nullopt;
  if (now.lost_function->empty()) return well();
  return bad("Lost", "the configuration space of PCI function " + *now.lost_function +
                         " reads as ones: the card has left the bus; power-cycle the node, or replace the card");
}

Result judge_shell(const Readings& now) {
  if (!now.engine || now.engine->interface_id.empty()) return std::nullopt;
  if (now.engine->interface_id.find_first_not_of('f') != std::string::npos) return well();
  return bad("ShellCrashed",
             "the interface id of its region reads as all ones: its shell or firmware has crashed; power-cycle it");
}

Result judge_port_errors(const Readings& now) {
  Result result;
  for (const PortReadings& port : now.ports) {
    if (!port.errors) continue;
    if (!result) result = well();
    if (*port.errors == 0) continue;
    const auto bits = if_documented(port.has_function, error_bits::port());
    const std::string file = "/sys/bus/platform/devices/" + port.node + "/errors/errors";
    std::string message = result->message.empty() ? "" : result->message + "; ";
    message +=
        "the error register of port " + std::to_string(port.number) + " reads " + decode_errors(*port.errors, bits);
    if (port.first_error.value_or(0) != 0) message += ", the first error was " + decode_errors(*port.first_error, bits);
    message += "; the release of its claim clears it, and so does writing the same value to " + file;
    result = bad("PortErrors", std::move(message));
  }
  return result;
}

std::string named(const char* file, std::uint64_t value, std::span<const ErrorBit> bits) {
  return std::string(file) + " reads " + decode_errors(value, bits);
}

// Removes bits that have a cause of their own, such as an upset; all ones stay.
constexpr std::uint64_t without(std::uint64_t value, std::uint64_t bits) {
  return value == ~0ULL ? value : value & ~bits;
}

Result judge_engine_errors(const Readings& now) {
  if (!now.engine || !now.engine->catfatal) return std::nullopt;
  const EngineReadings& engine = *now.engine;
  const auto known = [&](std::span<const ErrorBit> bits) { return if_documented(engine.is_documented, bits); };
  const std::uint64_t upsets = engine.is_documented ? ~0ULL : 0;
  const std::string folder = "/sys/bus/platform/devices/" + engine.node + "/errors";
  if (const auto fatal = without(*engine.catfatal, upsets & error_bits::kControllerUpset); fatal != 0)
    return bad("FatalErrors", named("catfatal_errors", fatal, known(error_bits::catfatal())) + " in " + folder +
                                  "; power-cycle the card, and replace it if they come back");
  std::string list;
  const auto add = [&](const char* file, std::uint64_t value, std::span<const ErrorBit> bits) {
    if (value != 0) list += (list.empty() ? "" : ", ") + named(file, value, known(bits));
  };
  add("nonfatal_errors", engine.nonfatal.value_or(0), error_bits::nonfatal());
  add("fme_errors", without(engine.fme.value_or(0), upsets & error_bits::kFpgaUpset), error_bits::fme());
  add("pcie0_errors", engine.pcie0.value_or(0), error_bits::pcie());
  add("pcie1_errors", engine.pcie1.value_or(0), error_bits::pcie());
  if (list.empty()) return well();
  return marked("NonFatalErrors",
                list + " in " + folder + "; the release of a claim for the whole card clears what can be cleared");
}

Result judge_upsets(const Readings& now) {
  if (!now.engine || !now.engine->is_documented || !now.engine->fme || !now.engine->catfatal) return std::nullopt;
  const auto has = [](std::uint64_t value, std::uint64_t bit) { return value != ~0ULL && (value & bit) != 0; };
  const bool fpga = has(*now.engine->fme, error_bits::kFpgaUpset),
             controller = has(*now.engine->catfatal, error_bits::kControllerUpset);
  if (!fpga && !controller) return well();
  return bad("BitUpset", std::string("radiation has changed the configuration of ") +
                             (fpga && controller ? "the FPGA and the board's controller"
                              : fpga             ? "the FPGA"
                                                 : "the board's controller") +
                             " (SEU); power-cycle the card, which loads it again");
}

// Source: drivers/fpga/fpga-mgr.c: the state of an operation that has failed ends in "error".
Result judge_manager(const Readings& now) {
  if (now.manager_state.empty()) return std::nullopt;
  if (!now.manager_state.ends_with(" error")) return well();
  std::string message = "the last programming has failed: the FPGA manager has the state '" + now.manager_state + "'" +
                        (now.manager_status.empty() ? "" : ", " + now.manager_status) +
                        "; the next one that succeeds ends this";
  // The manager does not tell which region of a card failed; regions that this module has programmed are fenced.
  return now.engine ? marked("ProgrammingFailed", std::move(message)) : bad("ProgrammingFailed", std::move(message));
}

struct Unit {
  const char *quantity, *symbol, *remedy;
};

// "temperature 'Board Temperature' of n3000bmc_hwmon is 75 °C, and its limit is 75 °C; look at ..."
std::string describe_sensor(const Sensor& sensor, const Unit& unit, const char* limit,
                            const std::optional<double>& allowed) {
  std::string text = std::string(unit.quantity) + " '" + sensor.name + "' of " + sensor.chip + " is " +
                     decimal(sensor.value) + " " + unit.symbol;
  if (allowed) text += ", and its " + std::string(limit) + " is " + decimal(*allowed) + " " + unit.symbol;
  return text + "; " + unit.remedy;
}

Finding judge_limits(const std::vector<Sensor>& sensors, const Unit& unit) {
  const auto reaches = [](const Sensor& sensor, const std::optional<double>& limit) {
    return limit && sensor.value >= *limit;
  };
  for (const Sensor& one : sensors)
    if (one.crit_alarm || reaches(one, one.crit))
      return bad("Critical", describe_sensor(one, unit, "critical limit", one.crit));
  for (const Sensor& one : sensors)
    if (one.max_alarm || reaches(one, one.max)) return marked("High", describe_sensor(one, unit, "limit", one.max));
  return well();
}

Result judge_sensors(const std::vector<Sensor>& sensors, const Unit& unit) {
  if (sensors.empty()) return std::nullopt;
  return measured(judge_limits(sensors, unit), std::ranges::max_element(sensors, {}, &Sensor::value)->value);
}

Result judge_temperature(const Readings& now) {
  return judge_sensors(now.temperatures, {"temperature", "°C", kLookAtCooling});
}

Result judge_power(const Readings& now) {
  return judge_sensors(now.powers, {"power", "W", "load a bitstream that needs less, or use it less"});
}

Finding throttling_of(const PortReadings& port) {
  constexpr std::uint64_t kAp1 = 1, kAp2 = 2, kAp6 = 6;
  const std::string subject = "port " + std::to_string(port.number);
  const std::uint64_t state = *port.power_state;
  if (state == kAp6)
    return bad("Stopped", subject + " is in power state AP6, which stops its function; " + kLookAtCooling +
                              ", and reset the port once it is cool");
  if (state == kAp1 || state == kAp2)
    return marked("Throttled", subject + " is in power state " +
                                   (state == kAp1 ? "AP1, which slows its function down by 50 %"
                                                  : "AP2, which slows its function down by 90 %") +
                                   "; " + kLookAtCooling + ", and at the power of the card");
  if (state != 0) return marked("Throttled", subject + " is in the unknown power state " + std::to_string(state));
  if (!port.ap1_event && !port.ap2_event) return well();
  const std::string event = port.ap2_event ? "ap2_event" : "ap1_event";
  return marked("ThrottledEarlier", subject + " was slowed down for a while, says its " + event +
                                        "; clear it: echo 1 > /sys/bus/platform/devices/" + port.node + "/" + event);
}

Result judge_throttling(const Readings& now) {
  Result worst;
  for (const PortReadings& port : now.ports) {
    if (!port.power_state) continue;
    Finding one = throttling_of(port);
    if (!worst || one.grade > worst->grade) worst = std::move(one);
  }
  return worst;
}

Finding judge_lanes(const hardware::PciLink& link) {
  if (*link.width < *link.max_width)
    return marked("LinkNarrow", "the PCIe link has " + std::to_string(*link.width) + " of " +
                                    std::to_string(*link.max_width) + " lanes" + kLookAtSlot);
  if (link.speed && link.max_speed && *link.speed < *link.max_speed)
    return marked("LinkSlow", "the PCIe link runs at " + decimal(*link.speed) + " of " + decimal(*link.max_speed) +
                                  " GT/s" + kLookAtSlot);
  return well();
}

Result judge_link(const Readings& now) {
  if (!now.link.width || !now.link.max_width) return std::nullopt;
  return measured(judge_lanes(now.link), static_cast<double>(*now.link.width));
}

Finding judge_new_errors(const Readings& now) {
  constexpr double kManyCorrected = 1200;  // in a minute; a few are normal
  const hardware::PciErrors& errors = now.new_errors;
  const auto say = [](std::uint64_t count, const char* what) {
    return std::to_string(count) + " " + what + " PCIe errors since the last look" + kLookAtSlot +
           ", and at the kernel's log";
  };
  if (errors.fatal.value_or(0) > 0) return bad("FatalErrors", say(*errors.fatal, "fatal"));
  if (errors.nonfatal.value_or(0) > 0) return marked("NonFatalErrors", say(*errors.nonfatal, "non-fatal"));
  if (now.corrected_errors.value_or(0) >= kManyCorrected)
    return marked("CorrectedErrors", say(errors.correctable.value_or(0), "corrected"));
  return well();
}

Result judge_pcie_errors(const Readings& now) {
  const hardware::PciErrors& errors = now.new_errors;
  if (!errors.fatal && !errors.nonfatal && !errors.correctable) return std::nullopt;
  Finding finding = judge_new_errors(now);
  finding.value = now.corrected_errors;
  return finding;
}

Result judge_ready(const Readings& now) {
  if (!now.xrt) return std::nullopt;
  const XrtReadings& xrt = *now.xrt;
  const auto is_set = [](const std::string& text) { return !text.empty() && text != "0" && text != "0x0"; };
  if (is_set(xrt.bad_state))
    return bad("BadState", "XRT's driver says that the card is in a bad state (device_bad_state " + xrt.bad_state +
                               "); reset it: xbutil reset");
  if (is_set(xrt.shutdown))
    return bad("ShutDown", "the card was shut down (shutdown " + xrt.shutdown +
                               "); put it online again: echo 0 > shutdown in its folder of sysfs");
  if (is_set(xrt.offline))
    return bad("Offline",
               "XRT's driver has taken the card offline (dev_offline " + xrt.offline + "); see the kernel's log");
  if (!xrt.ready.empty() && xrt.ready != "0x1" && xrt.ready != "1")
    return bad("NotReady", "XRT's driver is not ready (ready " + xrt.ready +
                               "): the driver of the management function does not respond; see xbutil examine");
  return well();
}

Result judge_firewall(const Readings& now) {
  if (!now.xrt || !now.xrt->firewall_status) return std::nullopt;
  if (*now.xrt->firewall_status == 0) return well();
  return bad("Tripped", "the AXI firewall at level " + std::to_string(now.xrt->firewall_level.value_or(0)) +
                            " has tripped with status " + decode_errors(*now.xrt->firewall_status, {}) +
                            ": the card is useless until it is reset: xbutil reset");
}

Result judge_memory(const Readings& now) {
  if (!now.xrt || !now.xrt->calibration) return std::nullopt;
  if (!now.lost_calibration) return well();
  return bad(
      "NotCalibrated",
      "its memory has lost its calibration (mig_calibration 0); load the xclbin again, or reset it: xbutil reset");
}

constexpr std::array kCauses{
    Cause{cause::kAccess, judge_access},
    Cause{cause::kShell, judge_shell},
    Cause{cause::kPortErrors, judge_port_errors},
    Cause{cause::kEngineErrors, judge_engine_errors},
    Cause{cause::kSeu, judge_upsets},
    Cause{cause::kManager, judge_manager},
    Cause{cause::kTemperature, judge_temperature},
    Cause{cause::kPower, judge_power},
    Cause{cause::kThrottling, judge_throttling},
    Cause{cause::kPcieLink, judge_link},
    Cause{cause::kPcieErrors, judge_pcie_errors},
    Cause{cause::kReady, judge_ready},
    Cause{cause::kFirewall, judge_firewall},
    Cause{cause::kMemory, judge_memory},
};

}  // namespace

std::span<const Cause> health_causes() { return kCauses; }

}  // namespace cardcage::fpga
