// Tests the nodes, variables and interfaces that a container gets for a network device.
#include "host/core/file.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

const std::string kMellanox = "0000:41:00.0";

class NicClaim : public NicFixture {
 protected:
  NicClaim() {
    tree.card(kMellanox, "mlx5_core");
    tree.netdev("enp65s0", kMellanox);
    tree.netdev("veth9");
  }
  void add_rdma() {
    const std::filesystem::path function = tree.root() / NicTree::function(kMellanox);
    std::filesystem::create_directories(function / "infiniband/mlx5_0");
    for (const char* node : {"infiniband_verbs/uverbs3", "infiniband_mad/umad3", "infiniband_mad/issm3"})
      tree.file(std::string("sys/class/") + node + "/ibdev", "mlx5_0\n");
    tree.file("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_1\n");  // belongs to another card
  }
  ModuleClaim claim_of(const std::string& uid, const std::vector<std::string>& wanted, const std::string& params = {}) {
    return HardwareFixture::claim_of(uid, wanted, params, "NicConfig");
  }
  static std::vector<std::string> variables_of(const Edits& edits) {
    std::vector<std::string> all;
    for (const EnvVar& variable : edits.env) all.push_back(variable.name + "=" + variable.value);
    return all;
  }
  static std::vector<std::string> paths(const Edits& edits) {
    std::vector<std::string> all;
    for (const DeviceNode& node : edits.device_nodes) all.push_back(node.path);
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NicClaim, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicClaim, AContainerLearnsWhichDeviceItGot) {
  ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"veth9"}}}));
  auto both = claim_of("u1", {"nic-0000-41-00-0", "nic-veth9"});
  const auto edits = prepare(both);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(variables_of(edits->allocations.at(0)), ElementsAre("NIC_0000_41_00_0=" + kMellanox));
  EXPECT_THAT(variables_of(edits->allocations.at(1)), ElementsAre("NIC_VETH9=veth9"));
  EXPECT_THAT(edits->allocations.at(0).device_nodes, IsEmpty());
  EXPECT_TRUE(unprepare(both));
}

TEST_P(NicClaim, AFunctionWhoseInterfaceIsElsewhereIsNotTaken) {
  tree.iommu_group(kMellanox, "23");
  ASSERT_TRUE(start());
  tree.move_away("enp65s0", kMellanox);
  for (const char* mode : {R"("mode":"Vfio")", R"("mode":"Kernel")"}) {
    auto claim = claim_of("u1", {"nic-0000-41-00-0"}, mode);
    const auto refused = prepare(claim);
    ASSERT_FALSE(refused) << mode;
    EXPECT_THAT(refused.error().message, HasSubstr("is in a network namespace that is not the daemon's")) << mode;
  }
}

TEST_P(NicClaim, AGuidHasEightBytesAndIsGood) {
  ASSERT_TRUE(start());
  for (const char* guid : {"00:11:22:33:44:55:66", "00:00:00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff:ff:ff",
                           "00:11:22:33:44:55:66:7g", "00-11-22-33-44-55-66-77"}) {
    ModuleClaim claim =
        HardwareFixture::claim_of("u1", {"nic-0000-41-00-0"}, fmt::format(R"("vf":{{"nodeGuid":"{}"}})", guid),
                                  "NicConfig", ConfigSource::kClass);
    const auto refused = prepare(claim);
    ASSERT_FALSE(refused) << guid;
    EXPECT_THAT(refused.error().message, HasSubstr(std::string("vf.nodeGuid: '") + guid + "' is not understood"));
  }
}

TEST_P(NicClaim, FieldsOfVirtualFunctionsAreForThoseAndForClasses) {
  ASSERT_TRUE(start());
  ModuleClaim claim =
      HardwareFixture::claim_of("u1", {"nic-0000-41-00-0"}, R"("vf":{"vlan":5})", "NicConfig", ConfigSource::kClass);
  const auto refused = prepare(claim);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("device '0000:41:00.0' is not a virtual function"));
  const auto of_user =
      decode_params(module->identity(), ConfigSource::kClaim,
                    R"({"apiVersion":"nic.cardcage.dev/v1alpha1","kind":"NicConfig","vf":{"trust":true}})");
  ASSERT_FALSE(of_user);
  EXPECT_THAT(of_user.error().message, HasSubstr("vf.trust"));
}

// The values are those that users of the plugin have posted, for a container with two ports on vfio-pci and for one
// with an RDMA device.
TEST_P(NicClaim, AResourceNamesItsDevicesAsTheSriovDevicePluginDoes) {
  tree.card("0000:02:00.0", "vfio-pci");
  tree.iommu_group("0000:02:00.0", "0");
  add_rdma();
  ASSERT_TRUE(start());
  const auto lists_of = [this](const char* name) {
    auto claim = claim_of(name, {name});
    claim.resource = "openshift.io/mlx-nic_1.vf";
    const auto edits = prepare(claim);
    EXPECT_TRUE(edits) << edits.error().message;
    return edits ? edits->allocations.at(0).env_lists : std::vector<EnvVar>();
  };
  EXPECT_THAT(lists_of("nic-0000-02-00-0"),
              ElementsAre(EnvVar{"PCIDEVICE_OPENSHIFT_IO_MLX-NIC_1_VF", "0000:02:00.0"},
                          EnvVar{"PCIDEVICE_OPENSHIFT_IO_MLX-NIC_1_VF_INFO",
                                 R"({"0000:02:00.0":{"generic":{"deviceID":"0000:02:00.0"},)"
                                 R"("vfio":{"dev-mount":"/dev/vfio/0","mount":"/dev/vfio/vfio"}}})"}))
      << "a container that has several gets them joined";
  EXPECT_THAT(lists_of("nic-0000-41-00-0"),
              Contains(EnvVar{"PCIDEVICE_OPENSHIFT_IO_MLX-NIC_1_VF_INFO",
                              R"({"0000:41:00.0":{"generic":{"deviceID":"0000:41:00.0"},)"
                              R"("rdma":{"issm":"/dev/infiniband/issm3","rdma_dev":"mlx5_0",)"
                              R"("umad":"/dev/infiniband/umad3","uverbs":"/dev/infiniband/uverbs3"}}})"}));
}

// drivers/vhost/vdpa.c names the node, drivers/uio/uio.c the folder.
TEST_P(NicClaim, AFunctionComesWithTheNodesOfItsDriver) {
  tree.card("0000:42:00.0", "uio_pci_generic");
  tree.attribute("0000:42:00.0", "uio/uio2/dev", "247:2\n");
  tree.attribute(kMellanox, "vdpa1/vhost-vdpa-4/dev", "510:4\n");
  ASSERT_TRUE(start());
  const auto edits_of = [this](const char* name) {
    auto claim = claim_of(name, {name});
    const auto edits = prepare(claim);
    EXPECT_TRUE(edits) << edits.error().message;
    return edits ? edits->allocations.at(0) : Edits();
  };
  EXPECT_THAT(paths(edits_of("nic-0000-42-00-0")), ElementsAre("/dev/uio2"));
  const Edits vdpa = edits_of("nic-0000-41-00-0");
  EXPECT_THAT(paths(vdpa), ElementsAre("/dev/vhost-vdpa-4"));
  EXPECT_THAT(vdpa.locked_memory, ElementsAre(UINT64_MAX)) << "vhost pins the memory of the virtual machine";
  auto of_resource = claim_of("u3", {"nic-0000-42-00-0"});
  of_resource.resource = "example.com/dpdk";
  const auto edits = prepare(of_resource);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(
      edits->allocations.at(0).env_lists,
      Contains(EnvVar{"PCIDEVICE_EXAMPLE_COM_DPDK_INFO",
                      R"({"0000:42:00.0":{"generic":{"deviceID":"0000:42:00.0"},"uio":{"mount":"/dev/uio2"}}})"}));
}

TEST_P(NicClaim, EachPortOfAFunctionHasAFileForCniPlugins) {
  const auto files = tree.root() / "run/k8s.cni.cncf.io/devinfo";
  std::filesystem::create_directories(files.parent_path());
  tree.netdev("enp65s0d1", kMellanox, "1");
  ASSERT_TRUE(start({{"device_info", files.native()}}));
  std::vector<ModuleClaim> claims;
  for (const char* name : {"nic-0000-41-00-0-port-0", "nic-0000-41-00-0-port-1"}) {
    claims.push_back(claim_of(name, {name}));
    claims.back().resource = "example.com/sriov";
    ASSERT_TRUE(prepare(claims.back()));
  }
  const auto file = files / "dp/example.com-sriov-0000:41:00.0-port-1-device.json";
  EXPECT_EQ(read_file(file, 1000).value_or(""),
            R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:41:00.0"}})");
  ASSERT_TRUE(unprepare(claims.front()));
  EXPECT_TRUE(std::filesystem::exists(file)) << "another pod has that port";
  ASSERT_TRUE(unprepare(claims.back()));
  EXPECT_FALSE(std::filesystem::exists(file));
}

// The file has the place and the members that the client library of the Network Plumbing group reads
// (pkg/utils/device-info of network-attachment-definition-client).
TEST_P(NicClaim, AResourceLeavesAFileForCniPluginsWhileAPodHasTheDevice) {
  const auto files = tree.root() / "run/k8s.cni.cncf.io/devinfo";
  const auto file = files / "dp/example.com-sriov-0000:41:00.0-device.json";
  ASSERT_TRUE(start({{"device_info", files.native()}}));
  auto claim = claim_of("u1", {"nic-0000-41-00-0"});
  claim.resource = "example.com/sriov";
  ASSERT_TRUE(prepare(claim));
  EXPECT_FALSE(std::filesystem::exists(file)) << "no plugin reads such files on this node";
  std::filesystem::create_directories(files.parent_path());
  add_rdma();
  ASSERT_TRUE(prepare(claim));
  EXPECT_EQ(read_file(file, 1000).value_or(""),
            R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:41:00.0","rdma-device":"mlx5_0"}})");
  EXPECT_TRUE(prepare(claim)) << "for the next container of the pod";
  ASSERT_TRUE(unprepare(claim));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_P(NicClaim, AVirtualFunctionThatSharesItsIommuGroupIsNotGivenAlone) {
  const std::string physical = "0000:43:00.0", first = "0000:43:00.1", second = "0000:43:00.2";
  tree.card(physical);
  tree.attribute(physical, "sriov_numvfs", "2\n");
  for (const auto& [number, function] : {std::pair(0u, first), std::pair(1u, second)}) {
    tree.card(function, "vfio-pci");
    tree.virtual_function(physical, number, function);
    tree.iommu_group(function, "7");
  }
  ASSERT_TRUE(start());
  auto claim = claim_of("u1", {"nic-0000-43-00-1"}, R"("mode":"Vfio")");
  const auto refused = prepare(claim);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("shares its IOMMU group with " + second));
}

TEST_P(NicClaim, RdmaComesWithTheNodesOfTheMoment) {
  add_rdma();
  tree.file("dev/infiniband/rdma_cm", "");
  ASSERT_TRUE(start());
  auto claim = claim_of("u1", {"nic-0000-41-00-0"});
  const auto edits = prepare(claim);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(paths(edits->allocations.at(0)), ElementsAre("/dev/infiniband/uverbs3", "/dev/infiniband/issm3",
                                                           "/dev/infiniband/umad3", "/dev/infiniband/rdma_cm"));
}

TEST_P(NicClaim, SoftRoceComesWithItsInterface) {
  tree.file("sys/class/infiniband/rxe0/parent", "veth9\n");
  tree.file("sys/class/infiniband_verbs/uverbs1/ibdev", "rxe0\n");
  ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"veth9"}}}));
  EXPECT_THAT(attributes_of(device("nic-veth9")), IsSupersetOf({"rdma=true", "rdmaDevice=rxe0"}));
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Contains("rdma=false"));
  auto claim = claim_of("u1", {"nic-veth9"}, R"("mode":"Rdma")");
  const auto edits = prepare(claim);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(paths(edits->allocations.at(0)), ElementsAre("/dev/infiniband/uverbs1"));
}

TEST_P(NicClaim, RdmaAndVfioMayLockMemory) {
  add_rdma();
  tree.card("0000:42:00.0", "vfio-pci");
  tree.iommu_group("0000:42:00.0", "23");
  ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"veth9"}}}));
  const auto locked = [this](ModuleClaim claim) {
    const auto edits = prepare(claim);
    EXPECT_TRUE(edits) << edits.error().message;
    return edits ? edits->allocations.at(0).locked_memory : std::vector<std::uint64_t>{};
  };
  EXPECT_THAT(locked(claim_of("u1", {"nic-0000-41-00-0"})), ElementsAre(UINT64_MAX));
  EXPECT_THAT(locked(claim_of("u2", {"nic-0000-42-00-0"})), ElementsAre(UINT64_MAX));
  EXPECT_THAT(locked(claim_of("u3", {"nic-0000-41-00-0"}, R"("lockedMemoryMiB":64)")), ElementsAre(64U << 20));
  EXPECT_THAT(locked(claim_of("u4", {"nic-0000-41-00-0"}, R"("lockedMemoryMiB":0)")), IsEmpty());
  EXPECT_THAT(locked(claim_of("u5", {"nic-veth9"})), IsEmpty()) << "there is nothing to lock memory for";
  ModuleClaim of_resource = claim_of("u6", {"nic-0000-41-00-0"});
  of_resource.resource = "example.com/rdma";
  EXPECT_THAT(locked(of_resource), IsEmpty());
}

TEST_P(NicClaim, TheContainerRuntimeMovesAnInterfaceIfItIsTold) {
  ASSERT_TRUE(start());
  ModuleClaim claim = claim_of("u1", {"nic-0000-41-00-0"}, R"("interface":{"movedBy":"Runtime","name":"net1"})");
  const auto edits = prepare(claim);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(edits->allocations.at(0).net_devices, ElementsAre(NetDevice{"enp65s0", "net1"}));
  ASSERT_TRUE(edits->statements.at(0).network);
  EXPECT_EQ(edits->statements.at(0).network->interface_name, "net1");
  ModuleClaim with_mtu = claim_of("u2", {"nic-0000-41-00-0"}, R"("interface":{"movedBy":"Runtime","mtu":9000})");
  const auto refused = prepare(with_mtu);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("a container runtime moves an interface as it is"));
}

TEST_P(NicClaim, AFunctionThatIsBoundToVfioComesWithItsGroup) {
  const std::string bound = "0000:42:00.0";
  tree.card(bound, "vfio-pci");
  tree.iommu_group(bound, "23");
  ASSERT_TRUE(start());
  auto claim = claim_of("u1", {"nic-0000-42-00-0"}, R"("vhostNet":true)");
  const auto edits = prepare(claim);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(paths(edits->allocations.at(0)),
              ElementsAre("/dev/vhost-net", "/dev/net/tun", "/dev/vfio/23", "/dev/vfio/vfio"));
}

// Without ACS both ports of a card are in the same group.
TEST_P(NicClaim, TwoClaimsDoNotShareAnIommuGroup) {
  const std::string first = "0000:44:00.0", second = "0000:44:00.1";
  for (const std::string& function : {first, second}) {
    tree.card(function, "vfio-pci");
    tree.iommu_group(function, "29");
  }
  ASSERT_TRUE(start());
  auto one = claim_of("u1", {"nic-0000-44-00-0"}), other = claim_of("u2", {"nic-0000-44-00-1"});
  ASSERT_TRUE(prepare(one));
  ASSERT_TRUE(prepare(one)) << "for the next container of the pod";
  const auto refused = prepare(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message,
              HasSubstr("function 0000:44:00.0, of the same IOMMU group, belongs to the claim u1"));
  module.reset();
  ASSERT_TRUE(start());
  ASSERT_TRUE(run(module->call(ReconcileCall{{one}}, soon())));
  EXPECT_FALSE(prepare(other)) << "after a start, too";
  ASSERT_TRUE(unprepare(one));
  EXPECT_TRUE(prepare(other));
}

TEST_P(NicClaim, VfioNeedsAnIommuGroup) {
  ASSERT_TRUE(start());
  auto claim = claim_of("u1", {"nic-0000-41-00-0"}, R"("mode":"Vfio")");
  const auto refused = prepare(claim);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("it is in no IOMMU group; turn on the IOMMU"));
  EXPECT_TRUE(unprepare(claim));
}

TEST_P(NicClaim, WithoutAnIommuVfioNeedsAnOption) {
  const std::string bound = "0000:42:00.0";
  tree.card(bound, "vfio-pci");
  tree.iommu_group(bound, "0");
  tree.file("sys/kernel/iommu_groups/0/name", "vfio-noiommu\n");
  ASSERT_TRUE(start());
  EXPECT_THAT(attributes_of(device("nic-0000-42-00-0")), Contains("vfio=false"));
  auto claim = claim_of("u1", {"nic-0000-42-00-0"});
  EXPECT_FALSE(prepare(claim));
  module.reset();
  ASSERT_TRUE(start({{"vfio_without_iommu", true}}));
  EXPECT_THAT(attributes_of(device("nic-0000-42-00-0")), Contains("vfio=true"));
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Contains("vfio=true")) << "it is in no group before";
  const auto edits = prepare(claim);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(edits->allocations.at(0).device_nodes,
              ElementsAre(DeviceNode{.path = "/dev/vfio/0", .host_path = "/dev/vfio/noiommu-0"},
                          DeviceNode{.path = "/dev/vfio/vfio"}));
}

TEST_P(NicClaim, WhatIsToBeUndoneIsWrittenDownOnceAndFirst) {
  tree.iommu_group(kMellanox, "7");
  ASSERT_TRUE(start());
  auto claim = claim_of("u1", {"nic-0000-41-00-0"}, R"("mode":"Vfio")");
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto refused = prepare(claim);
    ASSERT_FALSE(refused) << "the configuration allows no writes";
    EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
    EXPECT_EQ(claim.journal, kMellanox + " " + kMellanox + "\n");
  }
}

TEST_P(NicClaim, AnInterfaceWithoutHardwareCannotBePassedThrough) {
  ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"veth9"}}}));
  auto claim = claim_of("u1", {"nic-veth9"}, R"("mode":"Vfio")");
  const auto refused = prepare(claim);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("interface 'veth9' is not one"));
}

TEST_P(NicClaim, ADeviceThatIsGoneIsNamed) {
  ASSERT_TRUE(start());
  auto claim = claim_of("u1", {"nic-0000-41-00-0"});
  std::filesystem::remove_all(tree.root() / NicTree::function(kMellanox));
  const auto refused = prepare(claim);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("'0000:41:00.0' is not on this node any more"));
  EXPECT_TRUE(unprepare(claim)) << "nothing is left to take back";
}

}  // namespace
}  // namespace cardcage
