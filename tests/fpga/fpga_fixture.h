// Runs the FPGA module on described cards, in either isolation.
#pragma once

#include <filesystem>
#include <string>

#include "host/access/driver_records.h"
#include "tests/fpga/fpga_module_fixture.h"

namespace cardcage {

inline const std::string kN3000 = "fpga-0000-3b-00-0-p0";

class FpgaFixture : public FpgaModuleFixture {
 protected:
  ~FpgaFixture() override {
    if (cards) cards->release();
    let_go();  // the module must let go before the cards are removed
  }
  void SetUp() override {
    if (!FakeFpgas({}).mounted()) GTEST_SKIP() << "no file system can be mounted here";
  }

  Status start_on(std::vector<fake_fpga::Card> described, FakeFpgas::Options options = {}) {
    // With keeps_disabled the port stays disabled until its driver is bound again, like the kernel's: see its own test.
    options.failure_keeps_port_disabled = keeps_disabled;
    cards = std::make_unique<FakeFpgas>(std::move(described), options);
    return start_again();
  }
  // Starts a new instance, which knows nothing of an earlier one.
  Status start_again() {
    roots = {.sysfs = cards->sysfs(), .procfs = "/proc", .devfs = cards->devfs(), .driver = "/"};
    writes->sysfs = cards->sysfs();
    if (!writes->records) writes->records = std::make_unique<DriverRecords>(folder / "drivers", "boot-1");
    std::vector<std::string> may_write{cards->devfs() / "*",
                                       catalogue() / "*",
                                       cards->sysfs() / "bus/pci/devices/*/fpga_region/*/*/errors/*",
                                       cards->sysfs() / "bus/pci/devices/*/fpga_region/*/*/userclk_*",
                                       cards->sysfs() / "bus/pci/devices/*/fpga_region/*/*/*/userclk/frequency",
                                       cards->sysfs() / "bus/pci/drivers/*/*bind",
                                       cards->sysfs() / "bus/pci/devices/*/reset",
                                       cards->sysfs() / "bus/pci/devices/*/sriov_numvfs"};
    if (may_bind_drivers) may_write.push_back(cards->sysfs() / "bus/pci/devices/*/driver_override");
    return start_fpga_module(may_write, programs);
  }

  // Returns the accesses that reached the hardware, without the opening and closing of nodes.
  std::vector<std::string> changes() const {
    std::vector<std::string> log = cards->log();
    std::erase_if(log, [](const std::string& line) { return line.starts_with("open ") || line.starts_with("close "); });
    return log;
  }

  bool keeps_disabled = false;
  bool may_bind_drivers = true;
  std::vector<std::filesystem::path> programs;
  std::unique_ptr<FakeFpgas> cards;
};

}  // namespace cardcage
