// Loads and calls the generic module on described device nodes like the daemon, in either isolation.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "host/config/options.h"
#include "tests/common/hardware_fixture.h"
#include "tests/common/kernel_tree.h"
#include "tests/fakes/built_files.h"

namespace cardcage {

using List = std::vector<std::string>;

class GenericFixture : public HardwareFixture {
 protected:
  GenericFixture() : HardwareFixture("generic.cardcage.dev/v1alpha1") {
    modules_dir = built_modules();
    roots = {.sysfs = tree.sysfs(), .procfs = "/proc", .devfs = tree.devfs(), .driver = "/"};
    std::filesystem::create_directories(tree.devfs());
    std::filesystem::create_directories(tree.sysfs());
  }
  ~GenericFixture() override { let_go(); }

  void SetUp() override {
    const std::filesystem::path probe = tree.root() / "probe";
    if (::mknod(probe.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0) GTEST_SKIP() << "mknod needs root";
  }

  // `devices` are tables as the host passes them.
  Options options(const List& devices) const { return {{"devices", devices}, {"udev", tree.root() / "run/udev"}}; }
  Status start(const List& devices) { return start_module(config("libcardcage_generic.so", options(devices))); }
  Status configure(const List& devices) {
    const auto values = check_options(config("libcardcage_generic.so", options(devices)), module->identity().options);
    EXPECT_TRUE(values) << values.error().to_string();
    return run(module->call(ConfigureCall{values.value_or(OptionValues{})}, soon()));
  }

  // Paths are relative to /dev.
  void node(const std::string& path, unsigned major_number, unsigned minor_number, mode_t type = S_IFCHR) {
    const std::filesystem::path file = tree.devfs() / path;
    std::filesystem::create_directories(file.parent_path());
    ASSERT_EQ(::mknod(file.c_str(), type | 0600, ::makedev(major_number, minor_number)), 0) << std::strerror(errno);
  }
  void unplug(const std::string& path) { EXPECT_TRUE(std::filesystem::remove(tree.devfs() / path)) << path; }
  void link(const std::string& path, const std::string& target) { tree.link("dev/" + path, target); }

  // Adds what the kernel shows of a serial port of a USB device, at "1-2" on a bus of NUMA node 1.
  void usb_serial(const std::string& numbers, const std::string& name, const std::string& serial,
                  const std::string& port = "1-2") {
    const std::string device = "sys/devices/pci0000:3a/0000:3a:00.0/usb1/" + port,
                      interface = device + "/" + port + ":1.0";
    tree.file("sys/devices/pci0000:3a/0000:3a:00.0/numa_node", "1\n");
    tree.file(device + "/idVendor", "0403\n");
    tree.file(device + "/idProduct", "6001\n");
    if (!serial.empty()) tree.file(device + "/serial", serial + "\n");
    tree.file(device + "/product", "FT232R USB UART\n");
    tree.file(interface + "/bInterfaceNumber", "00\n");
    if (!std::filesystem::is_symlink(tree.root() / (interface + "/driver")))
      tree.link(interface + "/driver", "../../../../../bus/usb/drivers/ftdi_sio");
    known(numbers, interface + "/tty/" + name, "tty");
  }
  // Adds a device of a subsystem with an entry in sysfs.
  void known(const std::string& numbers, const std::string& entry, const std::string& subsystem) {
    tree.link(entry + "/subsystem", "/sys/class/" + subsystem);
    tree.link("sys/dev/char/" + numbers, tree.root() / entry);
  }

  std::map<std::string, std::string> not_offered() { return discover()->not_offered; }
  // "ok", or the reason and its text.
  std::string health(const std::string& name) {
    const Health found = device(name).health;
    return found.state == HealthState::kHealthy ? "ok" : found.reason + ": " + found.message;
  }

  hardware::KernelTree tree;
};

}  // namespace cardcage
