#include "host/serving/topology.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "host/model/standard_attributes.h"
#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

using testing::IsEmpty;
using List = std::vector<std::int64_t>;

class TopologyTest : public testing::Test {
 protected:
  // Adds a device to sysfs: its folder, and a link to it below bus/pci/devices.
  void plug(const std::string& address, const std::string& target, const std::string& numa_node) {
    const auto links = sysfs / "bus/pci/devices";
    std::filesystem::create_directories(links);
    std::filesystem::create_directories((links / target).lexically_normal());
    std::filesystem::create_symlink(target, links / address);
    std::ofstream(links / address / "numa_node") << numa_node;
  }
  void set_numa_node(const std::string& folder, const std::string& text) {
    std::ofstream(sysfs / "devices" / folder / "numa_node") << text;
  }
  Device located(const std::string& address) {
    Device device;
    device.pci_bus_id = address;
    Topology(sysfs.path(), form).add_to(device);
    return device;
  }
  void write(const std::string& file, const std::string& text) {
    const auto path = sysfs / "devices/system" / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Makes a machine with a row of distances per node; node n has the processors 2n and 2n + 1, and a package.
  void add_nodes(const std::vector<int>& packages, const std::vector<std::string>& rows) {
    write("node/online", fmt::format("0-{}\n", packages.size() - 1));
    for (std::size_t node = 0; node < packages.size(); ++node) {
      write(fmt::format("node/node{}/distance", node), rows[node] + "\n");
      write(fmt::format("node/node{}/cpulist", node), fmt::format("{}-{}\n", 2 * node, 2 * node + 1));
      write(fmt::format("cpu/cpu{}/topology/physical_package_id", 2 * node), fmt::format("{}\n", packages[node]));
    }
  }

  NumaAttribute form = NumaAttribute::kScalar;
  ScratchFolder sysfs;
};

TEST_F(TopologyTest, ReadsTheStandardAttributesFromSysfs) {
  plug("0000:3b:00.0", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "1\n");
  const Device device = located("0000:3b:00.0");
  EXPECT_EQ(device.attributes.at(kPcieRootAttribute), AttributeValue(std::string("pci0000:3a")));
  EXPECT_EQ(device.attributes.at(kPciBusIdAttribute), AttributeValue(std::string("0000:3b:00.0")));
  EXPECT_EQ(device.attributes.at(kNumaNodeAttribute), AttributeValue(std::int64_t{1}));
  EXPECT_THAT(device.numa_nodes, testing::ElementsAre(1));
}

// The root is that of the processor, as k8s.io/dynamic-resource-allocation/deviceattribute has it.
TEST_F(TopologyTest, ReadsThemInADomainOfFiveDigits) {
  plug("10000:e1:00.0", "../../../devices/pci0000:e0/0000:e0:05.5/pci10000:e0/10000:e0:06.0/10000:e1:00.0", "1\n");
  const Device device = located("10000:e1:00.0");
  EXPECT_EQ(device.attributes.at(kPcieRootAttribute), AttributeValue(std::string("pci0000:e0")));
  EXPECT_EQ(device.attributes.at(kPciBusIdAttribute), AttributeValue(std::string("10000:e1:00.0")));
}

TEST_F(TopologyTest, NamesTheNearestSwitch) {
  const std::string root_port = "../../../devices/pci0000:3a/0000:3a:00.0/";
  plug("0000:3b:00.0", root_port + "0000:3b:00.0", "-1\n");
  plug("0000:3d:00.0", root_port + "0000:3b:00.0/0000:3c:04.0/0000:3d:00.0", "-1\n");
  plug("0000:40:00.0", root_port + "0000:3b:00.0/0000:3c:08.0/0000:3e:00.0/0000:3f:00.0/0000:40:00.0", "-1\n");
  plug("0000:41:00.0", root_port + "0000:3c:00.0/0000:41:00.0", "-1\n");
  EXPECT_FALSE(located("0000:3b:00.0").attributes.contains(kPcieSwitchAttribute)) << "on a root port";
  EXPECT_FALSE(located("0000:41:00.0").attributes.contains(kPcieSwitchAttribute))
      << "behind a bridge that is not a switch";
  EXPECT_EQ(located("0000:3d:00.0").attributes.at(kPcieSwitchAttribute), AttributeValue(std::string("0000:3b:00.0")));
  EXPECT_EQ(located("0000:40:00.0").attributes.at(kPcieSwitchAttribute), AttributeValue(std::string("0000:3e:00.0")));
  EXPECT_EQ(located("0000:40:00.0").attributes.at(kPcieRootAttribute), AttributeValue(std::string("pci0000:3a")));
}

TEST_F(TopologyTest, LeavesOutWhatSysfsDoesNotHave) {
  const Device unknown = located("0000:3b:00.0");
  EXPECT_EQ(unknown.attributes.size(), 1u);
  EXPECT_TRUE(unknown.attributes.contains(kPciBusIdAttribute));
  plug("0000:3c:00.0", "../../../devices/pci0000:3a/0000:3c:00.0", "-1\n");
  const Device nowhere = located("0000:3c:00.0");
  EXPECT_FALSE(nowhere.attributes.contains(kNumaNodeAttribute));
  EXPECT_THAT(nowhere.numa_nodes, IsEmpty());
  EXPECT_THAT(located("").attributes, IsEmpty());
}

TEST_F(TopologyTest, TakesTheNumaNodeOfTheNearestBridgeThatHasOne) {
  plug("0000:3d:00.0", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3d:00.0", "-1\n");
  set_numa_node("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "-1\n");
  EXPECT_THAT(located("0000:3d:00.0").numa_nodes, IsEmpty());
  set_numa_node("pci0000:3a/0000:3a:00.0", "1\n");
  const Device device = located("0000:3d:00.0");
  EXPECT_THAT(device.numa_nodes, testing::ElementsAre(1));
  EXPECT_EQ(device.attributes.at(kNumaNodeAttribute), AttributeValue(std::int64_t{1}));
  set_numa_node("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "0\n");
  EXPECT_THAT(located("0000:3d:00.0").numa_nodes, testing::ElementsAre(0));
}

TEST_F(TopologyTest, IgnoresANumaNodeAboveTheBridges) {
  plug("0000:3b:00.0", "../../../devices/pci0000:3a/0000:3b:00.0", "-1\n");
  set_numa_node("pci0000:3a", "1\n");
  set_numa_node("", "1\n");
  EXPECT_THAT(located("0000:3b:00.0").numa_nodes, IsEmpty());
}

TEST_F(TopologyTest, KeepsWhatTheModuleSaid) {
  plug("0000:3b:00.0", "../../../devices/pci0000:3a/0000:3b:00.0", "1\n");
  Device device;
  device.pci_bus_id = "0000:3b:00.0";
  device.numa_nodes = {3, 2};
  device.attributes[kPcieRootAttribute] = std::string("pci0000:99");
  Topology(sysfs.path(), NumaAttribute::kScalar).add_to(device);
  EXPECT_EQ(device.attributes.at(kPcieRootAttribute), AttributeValue(std::string("pci0000:99")));
  EXPECT_EQ(device.attributes.at(kNumaNodeAttribute), AttributeValue(std::int64_t{3}));
  EXPECT_THAT(device.numa_nodes, testing::ElementsAre(3, 2));
}

TEST_F(TopologyTest, TheListFormBeginsWithTheNodeOfTheDevice) {
  form = NumaAttribute::kList;
  plug("0000:3b:00.0", "../../../devices/pci0000:3a/0000:3b:00.0", "1\n");
  plug("0000:3c:00.0", "../../../devices/pci0000:3a/0000:3c:00.0", "-1\n");
  EXPECT_EQ(located("0000:3b:00.0").attributes.at(kNumaNodeAttribute), AttributeValue(List{1})) << "no distances";
  add_nodes({0, 0, 1, 1}, {"10 12 32 32", "12 10 32 32", "32 32 10 12", "32 32 12 10"});
  const Device device = located("0000:3b:00.0");
  EXPECT_EQ(device.attributes.at(kNumaNodeAttribute), AttributeValue(List{1, 0}));
  EXPECT_THAT(device.numa_nodes, testing::ElementsAre(1)) << "the kubelet gets one node";
  EXPECT_FALSE(located("0000:3c:00.0").attributes.contains(kNumaNodeAttribute));

  Device told{.numa_nodes = {3, 1}};
  Topology(sysfs.path(), form).add_to(told);
  EXPECT_EQ(told.attributes.at(kNumaNodeAttribute), AttributeValue(List{3, 1})) << "the module reports near nodes";
}

TEST_F(TopologyTest, NearNodesAreThoseAtTheSmallestDistanceInThePackage) {
  add_nodes({0, 0, 0, 0, 1, 1}, {"10 11 12 12 20 20", "11 10 12 12 20 20", "12 12 10 12 20 20", "12 12 12 10 12 20",
                                 "20 20 20 20 10 20", "20 20 20 20 20 10"});
  EXPECT_EQ(near_nodes(sysfs.path(), 0), (List{0, 1}));
  EXPECT_EQ(near_nodes(sysfs.path(), 2), (List{2, 0, 1, 3}));
  EXPECT_EQ(near_nodes(sysfs.path(), 3), (List{3, 0, 1, 2})) << "node 4 is as near, but in another package";
  EXPECT_EQ(near_nodes(sysfs.path(), 4), (List{4, 5})) << "of the nodes at distance 20 only node 5 is in its package";
}

TEST_F(TopologyTest, TheColumnsOfTheDistancesAreTheNodesThatAreOnline) {
  write("node/online", "0,4-5\n");
  write("node/node4/distance", "20 10 12\n");
  EXPECT_EQ(near_nodes(sysfs.path(), 4), (List{4, 5})) << "the package of a node without processors is unknown";
  write("node/node4/distance", "20 10\n");
  EXPECT_EQ(near_nodes(sysfs.path(), 4), (List{4})) << "a node went offline in between";
  write("node/node4/distance", "20 10 x\n");
  EXPECT_EQ(near_nodes(sysfs.path(), 4), (List{4}));
  write("node/online", "0-999999999\n");
  EXPECT_EQ(near_nodes(sysfs.path(), 4), (List{4}));
}

TEST_F(TopologyTest, AListLeavesRoomForOtherAttributes) {
  write("node/online", "0-99\n");
  std::string row = "10";
  for (int node = 1; node < 100; ++node) row += " 40";
  write("node/node0/distance", row + "\n");
  EXPECT_EQ(near_nodes(sysfs.path(), 0).size(), 16u);
}

TEST_F(TopologyTest, IgnoresMalformedFiles) {
  plug("0000:01:00.0", "../../../devices/virtual/0000:01:00.0", "1x\n");
  plug("0000:02:00.0", "../../../devices/pci0000:3a/0000:99:00.0", "99999999999\n");
  plug("0000:03:00.0", "../../../devices/pci0000:3a$(reboot)/0000:03:00.0", std::string(10'000, '1'));
  plug("0000:04:00.0", "../../../devices", "");
  for (const char* address : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"})
    EXPECT_EQ(located(address).attributes.size(), 1u) << address;
  for (const char* address : {"../../../../etc/passwd", "0000:3B:00.0", "pci"})
    EXPECT_THAT(located(address).attributes, IsEmpty()) << address;
}

}  // namespace
}  // namespace cardcage
