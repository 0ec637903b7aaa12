// A node with the cards of the emulated machine: two Intel 82576 (igb) of QEMU, which have SR-IOV, 0000:01:00.0 below
// pci0000:00 and 0000:41:00.0 below pci0000:40, with an IOMMU; 0000:61:00.0 has neither an IOMMU nor a driver. udev
// names their interfaces.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "host/access/driver_records.h"
#include "tests/common/command_output.h"
#include "tests/common/hardware_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/qemu/machine_files.h"

namespace cardcage {

inline const std::string kCard = "0000:01:00.0", kFirst = "0000:01:10.0", kOther = "0000:41:00.0",
                         kBare = "0000:61:00.0";
inline constexpr const char *kFirstName = "nic-0000-01-10-0", *kSecondName = "nic-0000-01-10-2",
                            *kBareName = "nic-0000-61-00-0";

inline std::filesystem::path folder_of(const std::string& bus_id) { return "/sys/bus/pci/devices/" + bus_id; }

inline std::string interface_of(const std::string& bus_id) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(bus_id) / "net", error))
    return entry.path().filename();
  return "";
}

inline std::string driver_of(const std::string& bus_id) {
  std::error_code error;
  return std::filesystem::read_symlink(folder_of(bus_id) / "driver", error).filename();
}

// Returns the name and the alternative names, one per line.
inline std::string names_of(const std::string& bus_id) {
  const std::string name = interface_of(bus_id);
  return name + "\n" + output_of("ip -o link show dev " + name + " | grep -o 'altname [^ \\\\]*' | sort");
}

inline std::string index_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/ifindex");
  std::string index;
  file >> index;
  return index;
}

class NicMachine : public HardwareFixture {
 protected:
  NicMachine() : HardwareFixture("nic.cardcage.dev/v1alpha1") { modules_dir = built_modules(); }
  ~NicMachine() override {
    let_go();
    make_virtual_functions(0);
  }

  void SetUp() override {
    roots = {.sysfs = "/sys", .procfs = "/proc", .devfs = "/dev", .driver = "/"};
    writes->records = std::make_unique<DriverRecords>(folder / "drivers", "this boot");
    make_virtual_functions(2);
    ASSERT_TRUE(begins([] { return !interface_of(kFirst).empty() && !interface_of("0000:01:10.2").empty(); }));
    ASSERT_TRUE(udev_is_done());
    start();
  }
  void start(const std::vector<std::string>& allowed = {"/sys/bus/pci/devices/*/driver_override",
                                                        "/sys/bus/pci/devices/*/reset"},
             Options options = {}) {
    ModuleConfig wanted = config("libcardcage_nic.so", std::move(options));
    wanted.writes = allowed;
    const Status started = start_module(wanted);
    ASSERT_TRUE(started) << started.error().message;
  }
  static void make_virtual_functions(int count) {
    write_to(folder_of(kCard) / "sriov_numvfs", std::to_string(count) + "\n");
  }
  // Waits until udev has handled all events.
  static bool udev_is_done() { return succeeds("udevadm settle"); }
  // Waits for a change that the kernel makes by itself.
  template <class Done>
  static bool begins(Done done) {
    for (int i = 0; i < 300 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return done();
  }
  ModuleClaim claim_of(const std::string& uid, const std::string& name, const std::string& params = {}) {
    return HardwareFixture::claim_of(uid, {name}, params, "NicConfig");
  }
  Instant patiently() const { return clock.now() + std::chrono::seconds(60); }
  // Asks machine.py to run a command of QEMU's monitor: "device_del igb1".
  static void ask_monitor(const std::string& command) {
    std::ofstream("/dev/ttyS0") << "@monitor " << command << std::endl;
  }
};

}  // namespace cardcage
