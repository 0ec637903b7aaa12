// MPS: a control daemon with its settings for each claim that requests it, which leaves nothing behind after the claim
// is released.
#include <sys/mount.h>

#include "host/core/file.h"
#include "modules/nvidia/mps.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kMps = R"("sharing":{"strategy":"MPS"})";

std::string mount_to(const Edits& edits, const std::string& place) {
  for (const Mount& mount : edits.mounts)
    if (mount.container_path == place) return mount.host_path;
  return "nothing";
}

class NvidiaMps : public NvidiaFixture {
 protected:
  NvidiaMps() { services = std::make_shared<Services>(core, clock, places); }
  ~NvidiaMps() override {
    let_go();
    for (const char* uid : {"u1", "u2"}) {
      EXPECT_TRUE(finish(services->stop_all("m", uid, later())));
      ::umount2((root() / uid / "shm").c_str(), MNT_DETACH);
    }
  }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  }
  fs::path root() const { return folder / "mps"; }
  Options with_root(Options options = {}) const {
    options["mps_root"] = root().native();
    return options;
  }
  Result<PreparedEdits> prepare_slowly(ModuleClaim& wanted) { return kept(finish(preparing(wanted, later())), wanted); }
  Status unprepare_slowly(const ModuleClaim& wanted) { return finish(module->call(UnprepareCall{wanted}, later())); }
  std::string log(const std::string& uid = "u1") const {
    return read_file(root() / uid / "log/control.log", 10'000).value_or("no log");
  }
  unsigned mode(int gpu) const { return gpus->state()->gpus[gpu].compute_mode; }
  // Mount points below the folder, on the whole node.
  std::string mounts() const {
    std::string ours;
    std::istringstream lines(read_file("/proc/self/mounts", 1 << 20).value_or(""));
    for (std::string line; std::getline(lines, line);)
      if (line.contains(root().native())) ours += line + "\n";
    return ours;
  }

  Services::Places places{.records = folder / "records", .outputs = folder / "outputs", .groups = {}, .boot_id = "b"};
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaMps, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaMps, ADaemonServesTheClaimUntilItIsReleased) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}, with_root()));
  ModuleClaim wanted = claim_of("u1", {"gpu-0", "gpu-1"}, kMps);
  const auto edits = prepare_slowly(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  std::vector<std::string> uuids{gpus->uuid(0), gpus->uuid(1)};
  std::ranges::sort(uuids);
  EXPECT_THAT(log(), StartsWith("started -f CUDA_VISIBLE_DEVICES=" + uuids[0] + "," + uuids[1] + "\n"));
  EXPECT_THAT(wanted.journal, AllOf(HasSubstr("mps\n"), HasSubstr("compute-mode " + gpus->bus_id(0) + " 0\n")));
  for (const Edits& device : edits->allocations) {
    EXPECT_THAT(device.env, ElementsAre(EnvVar{"CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"}));
    EXPECT_EQ(mount_to(device, "/tmp/nvidia-mps"), (root() / "u1/pipe").native());
    EXPECT_EQ(mount_to(device, "/dev/shm"), (root() / "u1/shm").native());
  }
  EXPECT_TRUE(fs::exists(root() / "u1/shm/cuda.shm")) << "the daemon and containers share memory";
  EXPECT_FALSE(fs::exists("/dev/shm/cuda.shm")) << "only they share it";
  EXPECT_THAT(mounts(), AllOf(HasSubstr("u1 tmpfs"), HasSubstr("u1/shm tmpfs"), HasSubstr("nosuid,nodev,noexec")));
  EXPECT_EQ(mode(0), nvml::kComputeExclusiveProcess);

  ASSERT_TRUE(unprepare_slowly(wanted));
  EXPECT_THAT(services->of_claim("u1"), IsEmpty());
  EXPECT_EQ(mounts(), "");
  EXPECT_FALSE(fs::exists(root() / "u1"));
  EXPECT_EQ(mode(0), nvml::kComputeDefault);
  EXPECT_EQ(mode(1), nvml::kComputeDefault);
}

TEST_P(NvidiaMps, TheDaemonGetsTheSettings) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}, with_root()));
  ModuleClaim wanted =
      claim_of("u1", {"gpu-0", "gpu-1"},
               R"("sharing":{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":25,"multiUser":true,)"
               R"("defaultPinnedDeviceMemoryLimit":"10Gi","defaultPerDevicePinnedMemoryLimit":{")" +
                   std::max(gpus->uuid(0), gpus->uuid(1)) + R"(":"1500M"}}})");
  const auto edits = prepare_slowly(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(log(), AllOf(StartsWith("started -f -M "), HasSubstr("\nset_default_active_thread_percentage 25\n"),
                           HasSubstr("\nset_default_device_pinned_mem_limit 0 10240M\n"),
                           HasSubstr("\nset_default_device_pinned_mem_limit 1 1430M\n")));
  EXPECT_TRUE(unprepare_slowly(wanted));
}

TEST_P(NvidiaMps, ARepeatedPrepareFindsTheDaemonOfAnEarlierInstance) {
  ASSERT_TRUE(start_on({.product = "h100"}, with_root()));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"}, kMps);
  const auto first = prepare_slowly(wanted);
  ASSERT_TRUE(first) << first.error().message;
  const std::string said = log();
  ASSERT_TRUE(start_again(with_root()));
  const auto second = prepare_slowly(wanted);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(log(), said) << "it was not started again";
  ASSERT_TRUE(unprepare_slowly(wanted));
  EXPECT_EQ(mode(0), nvml::kComputeDefault) << "as it was before the first prepare";
}

TEST_P(NvidiaMps, WhatAnEarlierDaemonHasLeftIsNotTakenForReady) {
  ASSERT_TRUE(start_on({.product = "h100"}, with_root()));
  fs::create_directories(root() / "u1");
  ASSERT_EQ(::mount("earlier", (root() / "u1").c_str(), "tmpfs", 0, nullptr), 0);
  std::ofstream(root() / "u1/ready") << (root() / "u1").native() << "\n"
                                     << gpus->driver_root().native() << "\nsingle-user\n"
                                     << gpus->uuid(0) << std::flush;
  fs::remove(gpus->driver_root() / "usr/bin/nvidia-cuda-mps-control");
  ModuleClaim wanted = claim_of("u1", {"gpu-0"}, kMps);
  const auto edits = prepare_slowly(wanted);
  ASSERT_FALSE(edits) << "no daemon serves";
  EXPECT_THAT(edits.error().message, HasSubstr("looking for nvidia-cuda-mps-control"));
  EXPECT_TRUE(unprepare_slowly(wanted));
  EXPECT_EQ(mounts(), "");
}

TEST_P(NvidiaMps, ADaemonThatDoesNotStartFailsThePrepareAndLeavesNothing) {
  ASSERT_TRUE(start_on({.product = "h100"}, with_root()));
  fs::remove(gpus->driver_root() / "usr/bin/nvidia-cuda-mps-control");
  ModuleClaim wanted = claim_of("u1", {"gpu-0"}, kMps);
  const auto edits = prepare_slowly(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("looking for nvidia-cuda-mps-control, a program of the NVIDIA driver"));
  EXPECT_EQ(mounts(), "");
  EXPECT_EQ(mode(0), nvml::kComputeDefault);
  EXPECT_THAT(services->of_claim("u1"), IsEmpty());
}

TEST_P(NvidiaMps, ALinkThatAContainerHasLeftLeadsNowhere) {
  ASSERT_TRUE(start_on({.product = "h100"}, with_root()));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"}, kMps);
  ASSERT_TRUE(prepare_slowly(wanted));
  const fs::path pid_file = root() / "u1/pipe/nvidia-cuda-mps-control.pid", victim = folder / "victim";
  std::ofstream(victim) << "precious" << std::flush;
  fs::remove(pid_file);
  fs::create_symlink(victim, pid_file);
  const std::string state = services->of_claim("u1").front().state;  // "runs as pid 4711"
  ASSERT_EQ(::kill(static_cast<pid_t>(std::stol(state.substr(state.rfind(' ')))), SIGKILL), 0);
  set_pace();
  EXPECT_TRUE(eventually([&] {
    keep_pace();
    return fs::exists(root() / "u1/ready") && fs::is_regular_file(fs::symlink_status(pid_file));
  })) << "it was started again";
  EXPECT_EQ(read_file(victim, 100).value(), "precious");
  EXPECT_TRUE(unprepare_slowly(wanted));
}

TEST_P(NvidiaMps, WorksOnAMigInstanceWhoseGpuKeepsItsMode) {
  ASSERT_TRUE(start_on({.product = "h100"}, with_root({{"mig", std::string("dynamic")}})));
  ModuleClaim wanted = claim_of("u1", {"gpu-0-mig-2g20gb-14-2"}, kMps, "MigDeviceConfig");
  const auto edits = prepare_slowly(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(log(), HasSubstr("CUDA_VISIBLE_DEVICES=MIG-"));
  EXPECT_EQ(mode(0), nvml::kComputeDefault);
  EXPECT_TRUE(unprepare_slowly(wanted));
}

TEST_P(NvidiaMps, IsReleasedWithoutADriver) {
  ASSERT_TRUE(start_on({.product = "h100"}, with_root()));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"}, kMps);
  ASSERT_TRUE(prepare_slowly(wanted));
  gpus->unload_driver();
  EXPECT_TRUE(unprepare_slowly(wanted));
  EXPECT_EQ(mounts(), "");
  EXPECT_THAT(services->of_claim("u1"), IsEmpty());
}

TEST_P(NvidiaMps, SettingsThatContradictThemselvesAreNamed) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}, with_root()));
  const auto error_of = [&](const std::string& params) {
    ModuleClaim wanted = claim_of("u1", {"gpu-0", "gpu-1"}, params);
    const auto edits = prepare_slowly(wanted);
    EXPECT_EQ(mode(0), nvml::kComputeDefault);
    return edits ? "it was prepared" : edits.error().message;
  };
  EXPECT_THAT(error_of(R"("sharing":{"strategy":"MPS","timeSlicingConfig":{"interval":"Long"}})"),
              HasSubstr("sharing.timeSlicingConfig is for the strategy TimeSlicing, and sharing.strategy is MPS"));
  EXPECT_THAT(error_of(R"("sharing":{"strategy":"TimeSlicing","mpsConfig":{"multiUser":true}})"),
              HasSubstr("sharing.mpsConfig is for the strategy MPS"));
  EXPECT_THAT(error_of(R"("sharing":{})"), HasSubstr("write sharing.strategy: TimeSlicing or MPS"));
  EXPECT_THAT(error_of(R"("sharing":{"strategy":"MPS","mpsConfig":{"defaultPinnedDeviceMemoryLimit":"10k"}})"),
              HasSubstr("defaultPinnedDeviceMemoryLimit: 10000 bytes are less than 1Mi, the least for MPS"));
  EXPECT_THAT(error_of(R"("sharing":{"strategy":"MPS","mpsConfig":{"defaultPerDevicePinnedMemoryLimit":{"7":"1Gi"}}})"),
              HasSubstr("'7' is neither the UUID nor the place of a device of the claim, which has 2"));
}

// As with NVIDIA's driver, places are counted among the devices of a request, in the order of their UUIDs.
TEST_P(NvidiaMps, RequestsOfAClaimMayHaveLimitsOfTheirOwn) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 3}, with_root()));
  const auto limited = [&](const std::vector<std::string>& devices, const std::string& limits) {
    return claim_of("u1", devices, R"("sharing":{"strategy":"MPS","mpsConfig":{)" + limits + "}}");
  };
  ModuleClaim wanted = limited({"gpu-0"}, R"("defaultPinnedDeviceMemoryLimit":"1Gi")");
  const ModuleClaim other = limited({"gpu-1", "gpu-2"}, R"("defaultPerDevicePinnedMemoryLimit":{"0":"2Gi","1":"3Gi"})");
  wanted.allocations.insert(wanted.allocations.end(), other.allocations.begin(), other.allocations.end());
  const auto edits = prepare_slowly(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  std::vector<std::string> all{gpus->uuid(0), gpus->uuid(1), gpus->uuid(2)}, of_other{gpus->uuid(1), gpus->uuid(2)};
  std::ranges::sort(all);
  std::ranges::sort(of_other);
  EXPECT_THAT(log(), HasSubstr("CUDA_VISIBLE_DEVICES=" + all[0] + "," + all[1] + "," + all[2] + "\n"));
  for (const auto& [uuid, limit] :
       std::map<std::string, std::string>{{gpus->uuid(0), "1024M"}, {of_other[0], "2048M"}, {of_other[1], "3072M"}})
    EXPECT_THAT(log(), HasSubstr("set_default_device_pinned_mem_limit " +
                                 std::to_string(std::ranges::find(all, uuid) - all.begin()) + " " + limit + "\n"));
  EXPECT_TRUE(unprepare_slowly(wanted));
}

TEST_P(NvidiaMps, SettingsOfTheWholeDaemonAreTheSameInAClaim) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}, with_root()));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"}, kMps);
  const ModuleClaim other =
      claim_of("u1", {"gpu-1"}, R"("sharing":{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":10}})");
  wanted.allocations.push_back(other.allocations.front());
  const auto edits = prepare_slowly(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("need the same defaultActiveThreadPercentage and multiUser"));
  EXPECT_EQ(mode(0), nvml::kComputeDefault);
}

}  // namespace
}  // namespace cardcage
