#include "host/serving/topology.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/fakes/scratch_folder.h"

namespace cardcage {
namespace {

using testing::IsEmpty;

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
    add_topology(sysfs.path(), device);
    return device;
  }

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
  add_topology(sysfs.path(), device);
  EXPECT_EQ(device.attributes.at(kPcieRootAttribute), AttributeValue(std::string("pci0000:99")));
  EXPECT_EQ(device.attributes.at(kNumaNodeAttribute), AttributeValue(std::int64_t{3}));
  EXPECT_THAT(device.numa_nodes, testing::ElementsAre(3, 2));
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
