// Loads and calls the NIC module on described cards like the daemon, in either isolation.
#pragma once

#include "tests/common/hardware_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/nic/nic_tree.h"

namespace cardcage {

class NicFixture : public HardwareFixture {
 protected:
  NicFixture() : HardwareFixture("nic.cardcage.dev/v1alpha1") { modules_dir = built_modules(); }
  ~NicFixture() override { let_go(); }

  Status start(Options options = {}) {
    options.emplace("udev", (tree.root() / "run/udev").native());
    roots = {.sysfs = tree.sysfs(), .procfs = "/proc", .devfs = tree.devfs(), .driver = "/"};
    ModuleConfig wanted = config("libcardcage_nic.so", std::move(options));
    wanted.programs = programs;
    return start_module(wanted);
  }

  std::vector<std::filesystem::path> programs;

  NicTree tree;
};

}  // namespace cardcage
