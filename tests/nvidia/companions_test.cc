// Devices that containers get beside a GPU, the kernel module that the first claim after a boot needs, and machines
// that are not served.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <mutex>

#include "host/core/file.h"
#include "host/core/log.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

class NvidiaCompanions : public NvidiaFixture {
 protected:
  NvidiaCompanions() {
    divert_log([this](LogLevel, std::string_view message, std::initializer_list<LogField>) {
      const std::lock_guard lock(log_lock);
      log_text.append(message).append("\n");
    });
  }
  ~NvidiaCompanions() override {
    let_go();
    divert_log({});
  }
  // Returns the lines that the module and the host logged.
  std::string said() {
    const std::lock_guard lock(log_lock);
    return log_text;
  }
  void make_device(const fs::path& inside, unsigned major, unsigned minor) {
    const fs::path file = gpus->devfs() / inside;
    fs::create_directories(file.parent_path());
    if (::mknod(file.c_str(), S_IFCHR | 0600, ::makedev(major, minor)) != 0) GTEST_SKIP() << "mknod needs root";
  }
  void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  Result<PreparedEdits> prepared() {
    ModuleClaim wanted = claim_of("u1", {"gpu-0"});
    auto edits = prepare(wanted);
    EXPECT_TRUE(unprepare(wanted));
    return edits;
  }
  std::vector<std::string> nodes() {
    const auto edits = prepared();
    EXPECT_TRUE(edits) << edits.error().message;
    return edits ? nodes_of(edits->claim) : std::vector<std::string>();
  }

  // A node whose kernel has not loaded nvidia-uvm, with an nvidia-modprobe that loads it, or fails.
  void lay_out_without_uvm(bool works) {
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{});
    const std::string with = read_file(devices(), 10'000).value();
    std::string without = with;
    without.erase(without.find("509 nvidia-uvm\n"), std::strlen("509 nvidia-uvm\n"));
    write(devices(), without);
    write(folder / "loaded", with);
    const fs::path program = gpus->driver_root() / "usr/bin/nvidia-modprobe";
    write(program, "#!/bin/sh\necho \"$@\" >>" + (folder / "modprobe.log").native() + "\n" +
                       (works ? "cp " + (folder / "loaded").native() + " " + devices().native()
                              : std::string("echo no such module >&2; exit 1")) +
                       "\n");
    fs::permissions(program, fs::perms::owner_all);
  }
  std::mutex log_lock;
  std::string log_text;
  fs::path devices() const { return gpus->procfs() / "devices"; }
  std::string modprobe_log() const { return read_file(folder / "modprobe.log", 1000).value_or(""); }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaCompanions, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(NvidiaCompanions, ContainersGetTheDevicesThatTheOperatorWants) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{});
  make_device("nvidia-fs0", 240, 0);
  make_device("nvidia-fs12", 240, 12);
  make_device("gdrdrv", 241, 0);
  make_device("infiniband/uverbs0", 231, 192);
  make_device("infiniband/rdma_cm", 10, 58);
  make_device("infiniband/umad0", 231, 0);  // for managers of the fabric
  write(gpus->devfs() / "nvidia-fs.txt", "no device");
  write(gpus->driver_root() / "etc/cufile.json", "{}");
  ASSERT_TRUE(start_again({{"gds", true}, {"gdrcopy", true}, {"mofed", true}}));
  const auto edits = prepared();
  ASSERT_TRUE(edits) << edits.error().message;
  const auto found = nodes_of(edits->claim);
  EXPECT_THAT(found, IsSupersetOf({"c 240:0 /dev/nvidia-fs0", "c 240:12 /dev/nvidia-fs12", "c 241:0 /dev/gdrdrv",
                                   "c 231:192 /dev/infiniband/uverbs0", "c 10:58 /dev/infiniband/rdma_cm"}));
  EXPECT_THAT(found, Not(Contains(HasSubstr("umad"))));
  EXPECT_THAT(found, Not(Contains(HasSubstr(".txt"))));
  EXPECT_TRUE(std::ranges::any_of(edits->claim.mounts, [](const Mount& mount) {
    return mount.container_path == "/etc/cufile.json" && std::ranges::find(mount.options, "ro") != mount.options.end();
  }));
  ASSERT_TRUE(start_again());
  EXPECT_THAT(nodes(), AllOf(Not(Contains(HasSubstr("nvidia-fs"))), Not(Contains(HasSubstr("gdrdrv"))),
                             Not(Contains(HasSubstr("infiniband")))))
      << "by default";
}

TEST_P(NvidiaCompanions, WhatANodeDoesNotHaveFailsNoClaim) {
  ASSERT_TRUE(start_on({}, {{"gds", true}, {"gdrcopy", true}, {"mofed", true}}));
  EXPECT_THAT(nodes(), Contains(HasSubstr("/dev/nvidiactl")));
  settle();
  EXPECT_THAT(said(), HasSubstr("the option gdrcopy is on, and the node has no /dev/gdrdrv*"));
}

TEST_P(NvidiaCompanions, TheFirstClaimAfterABootLoadsTheModuleOfCuda) {
  lay_out_without_uvm(true);
  may_load_modules = true;
  ASSERT_TRUE(start_again());
  EXPECT_THAT(nodes(), Contains("c 509:0 /dev/nvidia-uvm"));
  EXPECT_EQ(modprobe_log(), "-u -c=0\n");
  EXPECT_THAT(nodes(), Contains("c 509:0 /dev/nvidia-uvm"));
  EXPECT_EQ(modprobe_log(), "-u -c=0\n") << "once";
}

TEST_P(NvidiaCompanions, AModuleThatCannotBeLoadedIsNamed) {
  lay_out_without_uvm(false);
  for (const bool may : {true, false}) {
    may_load_modules = may;
    ASSERT_TRUE(start_again());
    const auto edits = prepared();
    ASSERT_FALSE(edits);
    EXPECT_THAT(edits.error().message, HasSubstr("CUDA needs the kernel module nvidia-uvm"));
    settle();
    EXPECT_THAT(said(), HasSubstr(may ? "no such module" : "nvidia-modprobe cannot run"));
  }
  EXPECT_EQ(modprobe_log(), "-u -c=0\n") << "runs only if allowed";
}

TEST_P(NvidiaCompanions, MachinesThatAreNotServedAreNamedOnce) {
  const auto starts_with_line = [&](const std::string& line) {
    EXPECT_TRUE(start_again());
    EXPECT_THAT(names(), IsEmpty());
    settle();
    EXPECT_THAT(said(), HasSubstr(line));
  };
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{});
  gpus->unload_driver();
  ASSERT_TRUE(start_again());
  EXPECT_THAT(said(), Not(HasSubstr("not served"))) << "a driver that is not loaded yet";
  write(gpus->sysfs() / "devices/soc0/family", "Tegra\n");
  starts_with_line("this is a Tegra machine (Jetson, IGX or Thor), whose own GPU is not served");
  write(gpus->devfs() / "dxg", "");
  starts_with_line("this is WSL2, whose GPU is reached through Windows (/dev/dxg): it is not served");
}

}  // namespace
}  // namespace cardcage
