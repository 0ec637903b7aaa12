// Runs the FPGA module on the cards of tests/qemu/fpga_cards with the kernel's own drivers: an N3000 at 0000:01:00.0, a
// card with four ports at 0000:02:00.0, an N6001 at 0000:41:00.0 of node 1, each with an IOMMU group of its own; and an
// FPGA manager.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "host/access/driver_records.h"
#include "modules/fpga/dfl/card.h"
#include "tests/fpga/fpga_module_fixture.h"
#include "tests/qemu/machine_files.h"
#include "tests/sim/fpga/system_calls.h"

namespace cardcage {

inline const std::string kN3000 = "0000:01:00.0", kFourPorts = "0000:02:00.0", kN6001 = "0000:41:00.0";
inline const std::string kN3000Port = "fpga-0000-01-00-0-p0", kFourPortsFirst = "fpga-0000-02-00-0-p0";
inline const std::string kFourPortsInterface = "69528db6eb31577a8c3668f9faa081f6";

// The folder that firmware_class.path names on the kernel's command line.
inline constexpr const char* kFirmware = "/tmp/firmware";

class FpgaMachine : public FpgaModuleFixture {
 protected:
  FpgaMachine() {
    std::filesystem::remove_all(kFirmware);
    use_catalogue(kFirmware);
  }
  ~FpgaMachine() override {
    for (const char* card : {"n3000", "four-ports", "n6001"}) control(card, "hold", "0");
    let_go();
  }

  void SetUp() override {
    roots = {.sysfs = "/sys", .procfs = "/proc", .devfs = "/dev", .driver = "/"};
    writes->records = std::make_unique<DriverRecords>(folder / "drivers", "this boot");
    // Pulling and plugging a card acts like a power cycle.
    for (const char* card : {"n3000", "four-ports", "n6001"}) {
      control(card, "fail", "0");
      control(card, "plugged", "0");
      control(card, "plugged", "1");
    }
    control("manager", "fail", "0");
    const Status started = start();
    ASSERT_TRUE(started) << started.error().message;
  }
  // Starts the module with the writes that docs/fpga.md lists.
  Status start() {
    return start_fpga_module(
        {"/dev/dfl-fme.*", "/dev/dfl-port.*", catalogue() / "*", "/sys/bus/pci/devices/*/fpga_region/*/*/errors/*",
         "/sys/bus/pci/devices/*/fpga_region/*/*/userclk_freqcntrcmd",
         "/sys/bus/pci/devices/*/fpga_region/*/*/*/userclk/frequency", "/sys/bus/pci/drivers/dfl-pci/*bind",
         "/sys/bus/pci/devices/*/driver_override", "/sys/bus/pci/devices/*/reset",
         "/sys/bus/pci/devices/*/sriov_numvfs", "/sys/class/fpga_manager/*/firmware",
         "/sys/class/fpga_manager/*/flags"},
        {});
  }

  static std::filesystem::path control_file(const std::string& card, const std::string& file) {
    return std::filesystem::path("/sys/kernel/debug/fpga-cards") / card / file;
  }
  static void control(const std::string& card, const std::string& file, const std::string& value) {
    write_to(control_file(card, file), value);
  }
  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
  }

  fpga::DflCard card(const std::string& bus_id) const {
    return fpga::read_dfl_card({.sysfs = "/sys", .procfs = "/proc", .devfs = "/dev"}, bus_id).value_or(fpga::DflCard());
  }
  std::filesystem::path port_node(const std::string& bus_id, std::size_t port = 0) const {
    return std::filesystem::path("/dev") / card(bus_id).ports.at(port).node;
  }
  std::filesystem::path engine_node(const std::string& bus_id) const {
    return std::filesystem::path("/dev") / card(bus_id).engine.value().node;
  }
  // Returns the function that the kernel shows; empty while the port is disabled.
  std::string function_of(const std::string& bus_id, std::size_t port = 0) const {
    return text_of(card(bus_id).ports.at(port).folder / "afu_id");
  }
  std::string manager_state(const std::string& bus_id) const {
    return text_of(card(bus_id).engine.value().manager / "state");
  }
  void release_port(const std::string& bus_id, int port) const {
    const UniqueFd engine = open_node(engine_node(bus_id));
    ASSERT_EQ(call_with(engine, DFL_FPGA_FME_PORT_RELEASE, port), 0);
  }
  // Waits longer than usual, because the emulated processor is many times slower than a real one.
  template <class T>
  T wait_for(Task<T> task) {
    return run(std::move(task), std::chrono::seconds(60));
  }
  Result<PreparedEdits> prepare_slowly(ModuleClaim& wanted) {
    return kept(wait_for(preparing(wanted, patiently())), wanted);
  }
  Status unprepare_slowly(const ModuleClaim& wanted) {
    return wait_for(module->call(UnprepareCall{wanted}, patiently()));
  }
  std::string refusal_of(ModuleClaim& wanted) {
    const auto prepared = prepare_slowly(wanted);
    EXPECT_FALSE(prepared);
    return prepared ? std::string() : prepared.error().message;
  }
  std::string refusal_of(ModuleClaim&& wanted) { return refusal_of(wanted); }
  Instant patiently() const { return clock.now() + std::chrono::seconds(60); }
  template <class Done>
  bool happens(Done done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done() && std::chrono::steady_clock::now() < end) {
      settle();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return done();
  }
};

}  // namespace cardcage
