// Whole GPUs for virtual machines: the right claim gets them, the kernel's driver is bound, and unbound afterwards.
#include "tests/nvidia/passthrough_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

const Options kPassthrough{{"passthrough", true}};

class NvidiaPassthrough : public NvidiaPassthroughFixture {
 protected:
  Status start_with_gpus(int count, Options options = kPassthrough) {
    const Status started = start_on({.product = "h100", .gpus = count}, options);
    for (int gpu = 0; gpu < count; ++gpu) sysfs.add_function(gpus->bus_id(gpu), "nvidia");
    return started;
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaPassthrough, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaPassthrough, AFunctionIsADeviceThatRulesItsGpuOut) {
  ASSERT_TRUE(start_with_gpus(2));
  fs::create_directories(gpus->driver_root() / "usr/share/misc");
  std::ofstream(gpus->driver_root() / "usr/share/misc/pci.ids")
      << "# a list\n10dd  Another\n\t2330  Wrong\n10de  NVIDIA Corporation\n\t2330  GH100 [H100 SXM5 80GB]\n"
      << "\t\t10de 16c1  a subsystem\n"
      << std::flush;
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1", "gpu-vfio-0", "gpu-vfio-1"));
  const Device function = device("gpu-vfio-1");
  EXPECT_EQ(function.kind, "vfio");
  EXPECT_EQ(function.pci_bus_id, gpus->bus_id(1));
  EXPECT_THAT(attributes_of(function),
              ElementsAre("deviceID=0x2330", "iommuFDEnabled=false", "productName=GH100 [H100 SXM5 80GB]", "type=vfio",
                          "uuid=" + function.id, "vendorID=0x10de"));
  // uuid.uuid5(uuid.NAMESPACE_DNS, "0000:3b:00.0") of Python.
  EXPECT_EQ(gpus->bus_id(0), "0000:3b:00.0");
  EXPECT_EQ(device("gpu-vfio-0").id, "5f36833e-54b9-5234-b457-89cdb0ccb109");
  EXPECT_THAT(amounts_of(function.capacity), ElementsAre("addressableMemory=256Gi"));
  const Device gpu = device("gpu-1");
  ASSERT_EQ(function.consumes.size(), 1u);
  EXPECT_EQ(function.consumes, gpu.consumes) << "the same counter of the same set";
}

TEST_P(NvidiaPassthrough, WithoutTheOptionThereAreNone) {
  ASSERT_TRUE(start_with_gpus(1, {}));
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
  EXPECT_THAT(device("gpu-0").consumes, IsEmpty());
}

TEST_P(NvidiaPassthrough, TheGpuGoesToVfioAndComesBack) {
  ASSERT_TRUE(start_with_gpus(2));
  gpus->state()->gpus[0].persistence = nvml::kEnabled;
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(driver(1), "nvidia");
  EXPECT_EQ(gpus->state()->gpus[0].persistence, nvml::kDisabled) << "nvidia-persistenced would keep the GPU open";
  EXPECT_THAT(wanted.journal,
              AllOf(HasSubstr("function " + gpus->bus_id(0)), HasSubstr("persistent " + gpus->bus_id(0))));
  ASSERT_EQ(edits->allocations[0].device_nodes.size(), 1u);
  EXPECT_EQ(edits->allocations[0].device_nodes[0].path, "/dev/vfio/40");
  EXPECT_THAT(edits->claim.env, ElementsAre(EnvVar{"NVIDIA_VISIBLE_DEVICES", "void"}));
  EXPECT_THAT(edits->claim.mounts, IsEmpty()) << "a virtual machine has a driver of its own";

  gpus->bind(0, "vfio-pci");  // the kernel shows this afterwards
  EXPECT_THAT(names(), ElementsAre("gpu-1", "gpu-vfio-0", "gpu-vfio-1"));
  EXPECT_EQ(device("gpu-vfio-0").health.state, HealthState::kUnmonitored);
  EXPECT_TRUE(prepare(wanted)) << "a second prepare changes nothing";

  gpus->bind(0, "nvidia");
  const Status released = unprepare(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(driver(), "nvidia");
  EXPECT_EQ(gpus->state()->gpus[0].persistence, nvml::kEnabled);
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1", "gpu-vfio-0", "gpu-vfio-1"));
  EXPECT_TRUE(unprepare(wanted)) << "there is nothing to undo";
}

TEST_P(NvidiaPassthrough, IommufdIsUsedWhereThereIsOne) {
  ASSERT_TRUE(start_with_gpus(1));
  std::ofstream(gpus->devfs() / "iommu").flush();
  constexpr const char* kParams = R"("iommu":{"backendPolicy":"PreferIommuFD","enableAPIDevice":true})";
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"}, kParams, "VfioDeviceConfig");
  gpus->bind(0, "vfio-pci");
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  const auto& nodes = edits->allocations[0].device_nodes;
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].path, "/dev/vfio/devices/vfio0");
  EXPECT_EQ(nodes[1].path, "/dev/iommu");
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaPassthrough, AGpuInUseIsNotTakenFromItsProcess) {
  ASSERT_TRUE(start_with_gpus(1));
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  gpus->add_process(0, 4711, 1 << 20);
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("GPU 0000:3b:00.0 is used by process 4711"));
  EXPECT_EQ(driver(), "nvidia");
}

TEST_P(NvidiaPassthrough, AdminAccessTakesNothingFromTheVirtualMachine) {
  ASSERT_TRUE(start_with_gpus(1));
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"}), other = claim_of("u2", {"gpu-vfio-0"});
  ASSERT_TRUE(prepare(wanted));
  other.allocations[0].admin_access = true;
  const auto edits = prepare(other);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("would take the function from its user"));
  EXPECT_EQ(other.journal, "");
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_TRUE(unprepare(other));
  EXPECT_EQ(driver(), "vfio-pci");
}

TEST_P(NvidiaPassthrough, AQuiescedGpuIsNotGivenAway) {
  ASSERT_TRUE(start_with_gpus(2));
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"}), other = claim_of("u2", {"gpu-vfio-1"});
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{gpus->uuid(0)}, soon())));
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{device("gpu-vfio-1").id}, soon())));
  for (ModuleClaim* claim : {&wanted, &other}) {
    const auto edits = prepare(*claim);
    ASSERT_FALSE(edits);
    EXPECT_THAT(edits.error().message, HasSubstr("is quiesced; resume it"));
  }
  ASSERT_TRUE(run(module->call(ResumeDeviceCall{device("gpu-vfio-1").id}, soon())));
  EXPECT_TRUE(prepare(other));
}

TEST_P(NvidiaPassthrough, WhatForbidsItIsNamed) {
  ASSERT_TRUE(start_with_gpus(2));
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  const auto error = [&] {
    const auto edits = prepare(wanted);
    return edits ? "it was prepared" : edits.error().message;
  };
  const fs::path function = gpus->sysfs() / "bus/pci/devices" / gpus->bus_id(0), group = function / "iommu_group";
  std::ofstream(function / "sriov_numvfs") << "2\n" << std::flush;
  EXPECT_THAT(error(), HasSubstr("GPU 0000:3b:00.0 cannot be passed through: it has virtual functions"));
  fs::remove(function / "sriov_numvfs");
  fs::create_symlink("/nowhere", group / "devices" / gpus->bus_id(1));
  EXPECT_THAT(error(), HasSubstr("its IOMMU group has " + gpus->bus_id(1) +
                                 " with the driver 'nvidia', which would go "
                                 "with it"));
  fs::remove(group);
  EXPECT_THAT(error(), HasSubstr("it is in no IOMMU group; turn on the IOMMU"));
  EXPECT_THAT(sysfs.written(), IsEmpty());
}

TEST_P(NvidiaPassthrough, AMissingVfioDriverIsNamedAndTheGpuComesBack) {
  Options options = kPassthrough;
  options["vfio_driver"] = std::string("nvgrace_gpu_vfio_pci");
  ASSERT_TRUE(start_with_gpus(1, options));
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, AllOf(HasSubstr("cannot be bound to 'nvgrace_gpu_vfio_pci'"),
                                           HasSubstr("is the driver's module loaded")));
  EXPECT_EQ(driver(), "nvidia") << "the failure was undone";
}

TEST_P(NvidiaPassthrough, AGpuWithPartitionsOfTheAdministratorIsNotOffered) {
  ASSERT_TRUE(start_with_gpus(2));
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 19, 0);
  EXPECT_THAT(names(), ElementsAre("gpu-0-mig-1g10gb-19-0", "gpu-1", "gpu-vfio-1"));
}

TEST_P(NvidiaPassthrough, WithDynamicMigAFunctionTakesAllOfTheGpu) {
  ASSERT_TRUE(start_with_gpus(1, {{"passthrough", true}, {"mig", std::string("dynamic")}}));
  EXPECT_EQ(device("gpu-vfio-0").consumes, device("gpu-0").consumes);
}

}  // namespace
}  // namespace cardcage
