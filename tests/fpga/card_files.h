// Cards in a folder with the layout of the kernel's sysfs, and a host that records the module's reports.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "modules/fpga/target.h"
#include "sim/scratch_folder.h"

namespace cardcage::fpga {

inline constexpr const char *kClassicCard = "0000:3b:00.0", *kAlveoUser = "0000:65:00.1", *kAlveo = "0000:65:00.0";
inline const std::string kPort0 = std::string(kClassicCard) + "/port-0", kPort1 = std::string(kClassicCard) + "/port-1";

// Writes files below /sys. Paths do not begin with a slash.
class CardFiles {
 public:
  std::filesystem::path sysfs() const { return folder_.path(); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path, std::ios::trunc) << text;
  }
  // Makes reads of the file fail.
  void make_unreadable(const std::string& path) const {
    std::filesystem::remove_all(folder_ / path);
    std::filesystem::create_directories(folder_ / path);
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(folder_ / path); }
  void link(const std::string& path, const std::string& to) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::filesystem::create_directories(folder_ / to);
    std::filesystem::create_symlink(folder_ / to, folder_ / path);
  }

  void add_function(const std::string& address) const {
    const std::string device = "devices/pci0000:00/" + address;
    link("bus/pci/devices/" + address, device);
    write(device + "/config", std::string("\x86\x80\x30\x0b\x06\x04\x10\x00", 8));
    for (const char* end : {"current", "max"}) {
      write(device + "/" + end + "_link_speed", "8.0 GT/s PCIe\n");
      write(device + "/" + end + "_link_width", "16\n");
    }
    set_pcie_errors(address, 0, 0, 0);
  }
  void set_pcie_errors(const std::string& address, int correctable, int nonfatal, int fatal) const {
    const std::string device = "devices/pci0000:00/" + address;
    write(device + "/aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR " + std::to_string(correctable) + "\n");
    write(device + "/aer_dev_nonfatal", "DLP 0\nTOTAL_ERR_NONFATAL " + std::to_string(nonfatal) + "\n");
    write(device + "/aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL " + std::to_string(fatal) + "\n");
  }
  // `device` is the folder of the device that the chip belongs to.
  void add_chip(const std::string& device, int number, const std::string& name) const {
    const std::string chip = device + "/hwmon/hwmon" + std::to_string(number);
    write(chip + "/name", name + "\n");
    link("class/hwmon/hwmon" + std::to_string(number), chip);
  }

 private:
  const ScratchFolder folder_;
};

// A card of the family of the N3000 with two ports, or with one that has no function, as OFS cards have.
struct DflFiles {
  const CardFiles& files;
  std::string address = kClassicCard;

  std::string base() const { return "devices/pci0000:00/" + address + "/fpga_region/region0"; }
  std::string engine() const { return base() + "/dfl-fme.0"; }
  std::string port(int number) const { return base() + "/dfl-port." + std::to_string(number + 2); }
  std::string thermal() const { return engine() + "/hwmon/hwmon0"; }
  std::string power() const { return engine() + "/hwmon/hwmon1"; }
  std::string board() const { return engine() + "/dfl_dev.3/spi_master/spi0/spi0.0/bmc/hwmon/hwmon2"; }

  void add(bool is_ofs = false) const {
    files.add_function(address);
    for (const char* name : {"catfatal_errors", "nonfatal_errors", "fme_errors", "pcie0_errors", "pcie1_errors"})
      files.write(engine() + "/errors/" + name, "0x0\n");
    files.write(engine() + "/dfl-fme-mgr.0/fpga_manager/fpga0/state", "unknown\n");
    files.write(engine() + "/dfl-fme-mgr.0/fpga_manager/fpga0/status", "");
    set_interface("a5d72a3cc8b04939912cf715e5dc10ca");
    add_port(0, !is_ofs);
    if (!is_ofs) add_port(1, true);
    files.add_chip(engine(), 0, "dfl_fme_thermal");
    for (const auto& [file, value] : std::map<std::string, std::string>{
             {"input", "42000"}, {"max", "90000"}, {"crit", "100000"}, {"max_alarm", "0"}, {"crit_alarm", "0"}})
      files.write(thermal() + "/temp1_" + file, value + "\n");
    files.add_chip(engine(), 1, "dfl_fme_power");
    for (const auto& [file, value] :
         std::map<std::string, std::string>{{"input", "33000000"}, {"max", "60000000"}, {"crit", "66000000"}})
      files.write(power() + "/power1_" + file, value + "\n");
    files.add_chip(engine() + "/dfl_dev.3/spi_master/spi0/spi0.0/bmc", 2, "n3000bmc_hwmon");
    for (const auto& [file, value] :
         std::map<std::string, std::string>{{"input", "-5500"}, {"max", "75000"}, {"label", "Board Temperature"}})
      files.write(board() + "/temp1_" + file, value + "\n");
  }
  void add_port(int number, bool has_function) const {
    files.write(port(number) + "/id", std::to_string(number) + "\n");
    files.write(port(number) + "/power_state", "0x0\n");
    files.write(port(number) + "/ap1_event", "0\n");
    files.write(port(number) + "/ap2_event", "0\n");
    files.write(port(number) + "/errors/errors", "0x0\n");
    files.write(port(number) + "/errors/first_error", "0x0\n");
    if (has_function) files.write(port(number) + "/afu_id", "d8424dc4a4a3c413f89e433683f9040b\n");
  }
  void set_interface(const std::string& id) const {
    files.write(engine() + "/dfl-fme-region.0/fpga_region/region1/compat_id", id + "\n");
  }
};

// An Alveo card, whose management function is on the node.
struct AlveoFiles {
  const CardFiles& files;

  std::string user() const { return std::string("devices/pci0000:00/") + kAlveoUser; }
  std::string management() const { return std::string("devices/pci0000:00/") + kAlveo; }
  void add() const {
    files.add_function(kAlveo);
    files.add_function(kAlveoUser);
    files.write(management() + "/mgmt_pf", "");
    files.write(management() + "/firewall.m.25856/status", "0\n");
    files.write(management() + "/firewall.m.25856/level", "18446744073709551615\n");
    files.write(user() + "/ready", "0x1\n");
    for (const char* name : {"dev_offline", "device_bad_state", "shutdown"}) files.write(user() + "/" + name, "0\n");
    files.write(user() + "/mig_calibration", "0x0\n");
    files.write(user() + "/xclbinuuid", "");
  }
};

class ListedDevice final : public Target {
 public:
  using Target::Target;
  Function function() const override { return loaded; }
  std::string why_not_programmable() const override { return {}; }
  void describe(cage::Device&) const override {}
  void require_fit(const Entry&) const override {}
  void program(const cage::Call&, const Entry&) const override {}
  void reset(const cage::Call&) const override {}
  void add_to(cage::Edit, const Entry*) const override {}

  Function loaded;
};

inline std::unique_ptr<ListedDevice> device(const std::string& id, const std::string& kind, const std::string& card) {
  return std::make_unique<ListedDevice>(
      Identity{.id = id, .name = {}, .kind = kind, .card = card, .bus_id = kind == "manager" ? "" : card, .model = {}});
}

// Records the reports of a module to its host.
class ListeningHost {
 public:
  using Statement = std::pair<std::string, cage::Health>;

  explicit ListeningHost(const std::filesystem::path& sysfs) : sysfs_(sysfs) {
    raw_.struct_size = sizeof raw_;
    raw_.host_data = this;
    raw_.log_enabled = [](const cage_host*, std::uint32_t) { return 0; };
    raw_.log = [](const cage_host*, std::uint32_t, cage_str) {};
    raw_.rescan = [](const cage_host* host) { ++self(host).rescans; };
    raw_.health = [](const cage_host* host, const cage_health* health) { self(host).take(*health); };
    raw_.extension = [](const cage_host*, const char*) -> const void* { return nullptr; };
    raw_.sysfs = cage::detail::raw(sysfs_);
  }
  ListeningHost(const ListeningHost&) = delete;
  ListeningHost& operator=(const ListeningHost&) = delete;

  Tools tools() const {
    const cage::Host host(&raw_);
    return {.node = {.sysfs = sysfs_, .procfs = {}, .devfs = {}},
            .host = host,
            .passthrough = {host, sysfs_, {}, "FPGA", "vfio-pci"},
            .vfio_driver = "vfio-pci",
            .xrt_program = "xbutil"};
  }
  std::vector<Statement> take_statements() { return std::exchange(statements, {}); }

  std::vector<Statement> statements;
  int rescans = 0;

 private:
  static ListeningHost& self(const cage_host* host) { return *static_cast<ListeningHost*>(host->host_data); }
  static std::string text(cage_str from) { return std::string(cage::detail::view(from)); }
  void take(const cage_health& from) {
    cage::Health health;
    health.state = from.state;
    health.reason = text(from.reason);
    health.message = text(from.message);
    health.taint = static_cast<cage::Taint>(from.taint);
    health.cause = text(from.cause);
    health.taint_key = text(from.taint_key);
    if (from.has_value != 0) health.value = from.value;
    statements.emplace_back(text(from.device_id), health);
  }

  const std::string sysfs_;
  cage_host raw_{};
};

}  // namespace cardcage::fpga
