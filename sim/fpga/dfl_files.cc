#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/fpga/tree.h"

namespace cardcage::fake_fpga {
namespace {

constexpr unsigned kFmeMajor = 238, kPortMajor = 237;
constexpr unsigned kTypeFme = 0, kTypePort = 1, kFeatureMax10 = 0xe, kFeatureUserClock = 0x14;
constexpr unsigned kPowerAp6 = 6;

std::string hex(std::uint64_t value) { return fmt::format("0x{:x}\n", value); }

// Makes the write function of a register that is cleared by writing its own value.
std::function<int(std::string_view)> cleared_by_value(std::uint64_t& errors) {
  return [&errors](std::string_view text) {
    const auto value = kernel_number(text);
    if (!value || *value != errors) return EINVAL;
    errors = 0;
    return 0;
  };
}

int clear_port_errors(Port& port, std::string_view text) {
  const auto value = kernel_number(text);
  if (!value) return EINVAL;
  if (port.power_state == kPowerAp6) return EBUSY;
  if (*value != port.errors) return EINVAL;
  port.errors = port.first_error = 0;
  return 0;
}

// Parses like kstrtobool().
std::optional<bool> kernel_bool(std::string_view text) {
  if (text.starts_with('1') || text.starts_with('y') || text.starts_with('Y') || text.starts_with("on")) return true;
  if (text.starts_with('0') || text.starts_with('n') || text.starts_with('N') || text.starts_with("of")) return false;
  return std::nullopt;
}

std::function<int(std::string_view)> event_clearer(bool& event) {
  return [&event](std::string_view text) {
    if (!kernel_bool(text).value_or(false)) return EINVAL;
    event = false;
    return 0;
  };
}

std::string number_of(const Machine& machine, unsigned major, unsigned minor) {
  return machine.node_number.empty() ? fmt::format("{}:{}\n", major, minor) : machine.node_number + "\n";
}

void add_feature(Tree& tree, const std::string& folder, unsigned number, unsigned type, unsigned feature) {
  tree.file(folder + "/type", fmt::format("0x{:x}\n", type));
  tree.file(folder + "/feature_id", fmt::format("0x{:x}\n", feature));
  tree.file(folder + "/uevent", fmt::format("MODALIAS=dfl:t{:04X}f{:04X}\n", type, feature));
  tree.link(fmt::format("sys/bus/dfl/devices/dfl_dev.{}", number), folder);
}

void add_region(Tree& tree, unsigned number, const std::string& device,
                const std::optional<std::string>& interface_id) {
  const std::string folder = fmt::format("{}/fpga_region/region{}", device, number);
  Entry& file = tree.file(folder + "/compat_id", interface_id.value_or("") + "\n");
  if (!interface_id) file.read_error = ENOENT;
  tree.link(folder + "/device", device);
  tree.link(folder + "/subsystem", "sys/class/fpga_region");
  tree.link(fmt::format("sys/class/fpga_region/region{}", number), folder);
}

void add_port_errors(Tree& tree, const std::string& folder, Port& port) {
  tree.file(folder + "/errors", hex(port.errors),
            [&port](std::string_view text) { return clear_port_errors(port, text); });
  tree.file(folder + "/first_error", hex(port.first_error));
  tree.file(folder + "/first_malformed_req",
            fmt::format("0x{:016x}{:016x}\n", port.malformed_high, port.malformed_low));
}

// Adds the registers of the first user clocks. The PLL's own registers, behind userclk_freqcmd, are not modelled: a
// command is only acknowledged with its sequence number.
void add_clock_registers(Tree& tree, const std::string& folder, Clock& clock) {
  constexpr std::uint64_t kLocked = 1ull << 60, kSequence = 3ull << 48, kHigh = 1ull << 32;
  const auto set = [](std::string_view text, const std::function<void(std::uint64_t)>& take) {
    const auto value = kernel_number(text);
    if (value) take(*value);
    return value ? 0 : EINVAL;
  };
  tree.file(folder + "/userclk_freqcmd", "",
            [&clock, set](std::string_view text) {
              return set(text, [&clock](std::uint64_t value) { clock.command = value; });
            })
      .mode = 0200;
  tree.file(folder + "/userclk_freqcntrcmd", "",
            [&clock, set](std::string_view text) {
              return set(text, [&clock](std::uint64_t value) { clock.counts_high = (value & kHigh) != 0; });
            })
      .mode = 0200;
  tree.file(folder + "/userclk_freqsts", hex((clock.command & kSequence) | (clock.locked ? kLocked : 0)));
  tree.file(folder + "/userclk_freqcntrsts", hex(std::uint64_t{clock.version} << 60 | (clock.counts_high ? kHigh : 0) |
                                                 (clock.counts_high ? clock.high_khz : clock.low_khz) / 10));
}

// Returns the divisor of a counter: the sum of its high and low times, or 1 if it is bypassed.
unsigned divisor_of(std::uint32_t counter) {
  constexpr std::uint32_t kBypass = 1u << 16;
  return (counter & kBypass) != 0 ? 1 : (counter >> 8 & 0xff) + (counter & 0xff);
}

// Takes a struct pll_config like the driver intel-dfl-iopll.
int set_frequency(Clock& clock, std::string_view bytes) {
  struct {
    std::uint32_t khz, m, n, c1, c0, filter, charge_pump, ripple_cap;
  } config{};
  constexpr std::uint32_t kReferenceKhz = 100000, kLeastKhz = 1000, kMostKhz = 600000;
  if (bytes.size() != sizeof config) return EINVAL;
  std::memcpy(&config, bytes.data(), sizeof config);
  if (config.khz < kLeastKhz || config.khz > kMostKhz) return EINVAL;
  const std::uint32_t oscillator = kReferenceKhz / divisor_of(config.n) * divisor_of(config.m);
  clock.low_khz = oscillator / divisor_of(config.c1);
  clock.high_khz = oscillator / divisor_of(config.c0);
  return 0;
}

void add_clock(Tree& tree, const Card& card, const std::string& folder, Port& port) {
  if (port.revision == 0) {
    add_clock_registers(tree, folder, port.clock);
    return;
  }
  const unsigned number = card.number(fmt::format("dfl_dev/{}", port.id));
  const std::string feature = fmt::format("{}/dfl_dev.{}", folder, number);
  add_feature(tree, feature, number, kTypePort, kFeatureUserClock);
  Clock& clock = port.clock;
  if (!clock.has_driver) return;
  tree.file(feature + "/feature_rev", fmt::format("0x{:x}\n", clock.feature_revision));
  tree.file(feature + "/userclk/frequency", fmt::format("{} {}\n", clock.low_khz, clock.high_khz),
            [&clock](std::string_view bytes) { return set_frequency(clock, bytes); });
}

void add_port(Tree& tree, const Machine& machine, Card& card, const std::string& base, Port& port) {
  const unsigned number = card.number(fmt::format("port/{}", port.id));
  const std::string name = fmt::format("dfl-port.{}", number), folder = base + "/" + name;
  tree.file(folder + "/dev", number_of(machine, kPortMajor, number));
  tree.link("sys/bus/platform/devices/" + name, folder);
  tree.node("dev/" + name, &card, &port);
  if (port.lacks_driver) return;
  tree.file(folder + "/id", fmt::format("{}\n", port.id));
  tree.file(folder + "/power_state", fmt::format("0x{:x}\n", port.power_state));
  tree.file(folder + "/ap1_event", port.ap1_event ? "1\n" : "0\n", event_clearer(port.ap1_event));
  tree.file(folder + "/ap2_event", port.ap2_event ? "1\n" : "0\n", event_clearer(port.ap2_event));
  tree.file(folder + "/ltr", port.ltr ? "1\n" : "0\n", [&port](std::string_view text) {
    const auto value = kernel_bool(text);
    if (!value) return EINVAL;
    port.ltr = *value;
    return 0;
  });
  if (port.afu_id) {
    Entry& file = tree.file(folder + "/afu_id", *port.afu_id + "\n");
    if (port.disabled > 0) file.read_error = EBUSY;
  }
  add_port_errors(tree, folder + "/errors", port);
  add_clock(tree, card, folder, port);
}

void add_fme_errors(Tree& tree, Card& card, const std::string& folder) {
  FmeErrors& errors = card.dfl->errors;
  const auto lock = [&card](Entry& entry) {
    entry.card = &card;
    entry.fme_locked = true;
  };
  lock(tree.file(folder + "/fme_errors", hex(errors.fme), cleared_by_value(errors.fme)));
  lock(tree.file(folder + "/pcie0_errors", hex(errors.pcie0), cleared_by_value(errors.pcie0)));
  lock(tree.file(folder + "/pcie1_errors", hex(errors.pcie1), cleared_by_value(errors.pcie1)));
  lock(tree.file(folder + "/inject_errors", hex(errors.inject), [&errors](std::string_view text) {
    constexpr std::uint64_t kMask = 7;
    const auto value = kernel_number(text);
    if (!value || (*value & ~kMask) != 0) return EINVAL;
    errors.inject = *value;
    return 0;
  }));
  lock(tree.file(folder + "/first_error", hex(errors.first)));
  lock(tree.file(folder + "/next_error", hex(errors.next)));
  tree.file(folder + "/nonfatal_errors", hex(errors.nonfatal));
  tree.file(folder + "/catfatal_errors", hex(errors.catfatal));
}

void add_bmc(Tree& tree, Card& card, const std::string& fme) {
  Bmc& bmc = *card.dfl->bmc;
  const unsigned number = card.number("dfl_dev/bmc"), spi = card.number("spi");
  const std::string feature = fmt::format("{}/dfl_dev.{}", fme, number);
  add_feature(tree, feature, number, kTypeFme, kFeatureMax10);
  const std::string chip = fmt::format("{}/spi_master/spi{}/spi{}.0", feature, spi, spi);
  tree.file(chip + "/bmc_version", bmc.version + "\n");
  tree.file(chip + "/bmcfw_version", bmc.firmware_version + "\n");
  tree.file(chip + "/mac_address", bmc.mac_address + "\n");
  tree.file(chip + "/mac_count", "8\n");
  const std::string board = bmc.hwmon.name.substr(0, bmc.hwmon.name.find('_'));
  add_hwmon(tree, fmt::format("{}/{}-hwmon.{}.auto", chip, board, number), card.number("hwmon/bmc"), bmc.hwmon);
  const std::string update = fmt::format("{}/{}-sec-update.{}.auto", chip, board, number);
  for (const char* key : {"sr", "pr", "bmc"}) {
    tree.file(fmt::format("{}/security/{}_root_entry_hash", update, key),
              (bmc.root_entry_hash.empty() ? "hash not programmed" : bmc.root_entry_hash) + "\n");
    tree.file(fmt::format("{}/security/{}_canceled_csks", update, key), "\n");
  }
  tree.file(update + "/security/flash_count", "4\n");
  tree.link(fmt::format("sys/bus/platform/drivers/intel-m10bmc-sec-update/{}-sec-update.{}.auto", board, number),
            update);
}

void add_fme(Tree& tree, const Machine& machine, Card& card, const std::string& base) {
  Dfl& dfl = *card.dfl;
  const unsigned number = card.number("fme");
  const std::string name = fmt::format("dfl-fme.{}", number), fme = base + "/" + name;
  tree.file(fme + "/dev", number_of(machine, kFmeMajor, number));
  tree.file(fme + "/ports_num", fmt::format("{}\n", dfl.ports.size()));
  tree.file(fme + "/bitstream_id", hex(dfl.bitstream_id));
  tree.file(fme + "/bitstream_metadata", hex(dfl.bitstream_metadata));
  for (const char* zero : {"cache_size", "fabric_version", "socket_id"}) tree.file(fme + "/" + zero, "0\n");
  add_fme_errors(tree, card, fme + "/errors");
  for (Hwmon& hwmon : dfl.hwmon) add_hwmon(tree, fme, card.number("hwmon/" + hwmon.name), hwmon);
  add_manager(tree, fmt::format("{}/dfl-fme-mgr.{}", fme, number), card.number("fpga"), dfl.manager);
  for (Port& port : dfl.ports) {
    const unsigned device = card.number(fmt::format("bridge/{}", port.id));
    const unsigned bridge = card.number(fmt::format("br/{}", port.id));
    const std::string folder = fmt::format("{}/dfl-fme-bridge.{}/fpga_bridge/br{}", fme, device, bridge);
    tree.file(folder + "/name", "DFL FPGA FME Bridge\n");
    tree.file(folder + "/state", "enabled\n");
    tree.link(fmt::format("sys/class/fpga_bridge/br{}", bridge), folder);
    add_region(tree, card.number(fmt::format("region/{}", port.id)), fmt::format("{}/dfl-fme-region.{}", fme, device),
               dfl.interface_id);
  }
  if (dfl.bmc) add_bmc(tree, card, fme);
  tree.link("sys/bus/platform/devices/" + name, fme);
  tree.node("dev/" + name, &card);
}

}  // namespace

void add_dfl_files(Tree& tree, Machine& machine, Card& card) {
  for (PciFunction* function : card.present()) {
    if (function->driver != "dfl-pci" || function->virtual_function || card.dfl->shell_gone) continue;
    const std::string folder = folder_of(function->address);
    if (function->address != card.address) {
      add_region(tree, card.number("region/" + function->address), folder, std::nullopt);
      continue;
    }
    const unsigned region = card.number("region/base");
    add_region(tree, region, folder, std::nullopt);
    const std::string base = fmt::format("{}/fpga_region/region{}", folder, region);
    add_fme(tree, machine, card, base);
    for (Port& port : card.dfl->ports) {
      if (!port.released) add_port(tree, machine, card, base, port);
    }
  }
}

void add_hwmon(Tree& tree, const std::string& device, unsigned number, Hwmon& hwmon) {
  const std::string folder = fmt::format("{}/hwmon/hwmon{}", device, number);
  tree.file(folder + "/name", hwmon.name + "\n");
  for (auto& [name, value] : hwmon.sensors) {
    Entry& file = tree.file(folder + "/" + name, fmt::format("{}\n", value));
    if (hwmon.name != "dfl_fme_power" || (name != "power1_max" && name != "power1_crit")) continue;
    file.mode = 0644;
    // The hardware stores whole watts, up to 127.
    file.write = [&value](std::string_view text) {
      constexpr long kMicro = 1000000, kMost = 0x7f;
      const auto wanted = kernel_number(text);
      if (!wanted) return EINVAL;
      value = std::min(static_cast<long>(*wanted) / kMicro, kMost) * kMicro;
      return 0;
    };
  }
  tree.link(folder + "/device", device);
  tree.link(fmt::format("sys/class/hwmon/hwmon{}", number), folder);
}

void add_manager(Tree& tree, const std::string& device, unsigned number, Manager& manager) {
  const std::string folder = fmt::format("{}/fpga_manager/fpga{}", device, number);
  tree.file(folder + "/name", manager.name + "\n");
  tree.file(folder + "/state", manager.state + "\n");
  tree.file(folder + "/status", manager.status.empty() ? "" : manager.status + "\n");
  tree.link(folder + "/device", device);
  tree.link(fmt::format("sys/class/fpga_manager/fpga{}", number), folder);
}

}  // namespace cardcage::fake_fpga
