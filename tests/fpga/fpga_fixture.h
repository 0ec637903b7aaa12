// The FPGA module on described cards, loaded and called as the daemon does it, in either isolation.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "host/core/digest.h"
#include "tests/common/hardware_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/fpga/bitstream_files.h"
#include "tests/fakes/fpga/fake_fpgas.h"

namespace cardcage {

inline const std::string kN3000 = "fpga-0000-3b-00-0-p0";

class FpgaFixture : public HardwareFixture {
 protected:
  FpgaFixture() : HardwareFixture("fpga.cardcage.dev/v1alpha1") {
    modules_dir = built_modules();
    std::filesystem::create_directories(catalogue());
    std::filesystem::permissions(catalogue(), std::filesystem::perms(0755));
  }
  ~FpgaFixture() override {
    if (cards) cards->release();
    let_go();  // before the cards go
  }
  void SetUp() override {
    if (!FakeFpgas({}).mounted()) GTEST_SKIP() << "no file system can be mounted here";
  }

  std::filesystem::path catalogue() const { return folder / "bitstreams"; }
  std::filesystem::path fences() const { return folder / "fences"; }

  Status start_on(std::vector<fake_fpga::Card> described, FakeFpgas::Options options = {}) {
    // Without this the port stays disabled until its driver is bound anew, as with the kernel: see its own test.
    options.failure_keeps_port_disabled = keeps_disabled;
    cards = std::make_unique<FakeFpgas>(std::move(described), options);
    return start_again();
  }
  // A new instance, which knows nothing of an earlier one.
  Status start_again() {
    let_go();
    roots = {.sysfs = cards->sysfs(), .procfs = "/proc", .devfs = cards->devfs(), .driver = "/"};
    writes->sysfs = cards->sysfs();
    if (!writes->records) writes->records = std::make_unique<DriverRecords>(folder / "drivers", "boot-1");
    ModuleConfig wanted = config(
        "libcardcage_fpga.so",
        {{"catalogue", catalogue().native()}, {"fences", fences().native()}, {"health_interval", std::string("20ms")}});
    wanted.programs = programs;
    wanted.writes = {cards->devfs() / "*",
                     catalogue() / "*",
                     cards->sysfs() / "bus/pci/devices/*/fpga_region/*/*/errors/*",
                     cards->sysfs() / "bus/pci/devices/*/fpga_region/*/*/userclk_*",
                     cards->sysfs() / "bus/pci/devices/*/fpga_region/*/*/*/userclk/frequency",
                     cards->sysfs() / "bus/pci/drivers/*/*bind",
                     cards->sysfs() / "bus/pci/devices/*/reset",
                     cards->sysfs() / "bus/pci/devices/*/sriov_numvfs"};
    if (may_bind_drivers) wanted.writes.push_back(cards->sysfs() / "bus/pci/devices/*/driver_override");
    return start_module(wanted);
  }

  ModuleClaim claim_of(const std::string& uid, const std::vector<std::string>& wanted, const std::string& params = {},
                       ConfigSource source = ConfigSource::kClaim) {
    return HardwareFixture::claim_of(uid, wanted, params, "FpgaConfig", source);
  }

  // Adds a bitstream to the catalogue whose function is `function`, for the interface of the N3000 unless another is
  // given. Returns its file.
  std::filesystem::path add_bitstream(const std::string& name, const std::string& function,
                                      const std::string& interface = fake_fpga::kN3000Interface,
                                      const std::string& more = {}) {
    GbsFile gbs;
    gbs.interface_uuid = interface;
    gbs.function_uuid = function;
    return add_gbs(name, gbs, more);
  }
  // The same; `more` are lines of the manifest.
  std::filesystem::path add_gbs(const std::string& name, GbsFile gbs, const std::string& more = {}) {
    gbs.data = fake_payload(gbs.function_uuid, 5000);
    const std::string bytes = make_gbs(gbs);
    const std::filesystem::path file = catalogue() / (name + ".gbs");
    write(file, bytes);
    write(catalogue() / (name + ".toml"),
          fmt::format("file = \"{}.gbs\"\nsha256 = \"{}\"\n{}", name, sha256_hex(bytes), more));
    return file;
  }
  static void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text << std::flush;
    std::filesystem::permissions(file, std::filesystem::perms(0644));
  }
  // What reached the hardware, without the opening and closing of nodes.
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
