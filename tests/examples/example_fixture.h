// Loads and calls the example modules on described devices like the daemon, in either isolation.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>

#include "tests/common/hardware_fixture.h"
#include "tests/common/kernel_tree.h"

namespace cardcage {

class ExampleFixture : public HardwareFixture {
 protected:
  ExampleFixture() : HardwareFixture("") {
    modules_dir = CARDCAGE_EXAMPLE_MODULES;
    roots = {.sysfs = tree.sysfs(), .procfs = "/proc", .devfs = tree.devfs(), .driver = "/"};
    for (const std::filesystem::path& place : {tree.devfs(), tree.sysfs(), tree.root() / "run/udev/data"})
      std::filesystem::create_directories(place);
  }
  ~ExampleFixture() override { let_go(); }

  void SetUp() override {
    const std::filesystem::path probe = tree.root() / "probe";
    if (::mknod(probe.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0) GTEST_SKIP() << "mknod needs root";
  }
  void node(const std::string& name, unsigned major_number, unsigned minor_number) {
    const std::filesystem::path file = tree.devfs() / name;
    ASSERT_EQ(::mknod(file.c_str(), S_IFCHR | 0600, ::makedev(major_number, minor_number)), 0) << std::strerror(errno);
  }
  // "ok", or the reason and its text.
  std::string health(const std::string& name) {
    const Health found = device(name).health;
    return found.state == HealthState::kHealthy ? "ok" : found.reason + ": " + found.message;
  }

  hardware::KernelTree tree;
};

}  // namespace cardcage
