#include "modules/common/pci_function.h"

#include <gmock/gmock.h>

#include "tests/common/kernel_tree.h"

namespace cardcage::hardware {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kCard = "0000:b1:00.0", kOther = "0000:b1:00.1";

class PciFunction : public ::testing::Test {
 protected:
  KernelTree tree;
};

TEST_F(PciFunction, AllAreListedByAddress) {
  EXPECT_THAT(functions_of(tree.sysfs()), IsEmpty());
  for (const char* bus_id : {"0001:00:00.0", "0000:b1:00.0", "0000:3b:00.0"}) tree.attribute(bus_id, "class", "");
  EXPECT_THAT(functions_of(tree.sysfs()), ElementsAre("0000:3b:00.0", "0000:b1:00.0", "0001:00:00.0"));
  EXPECT_EQ(slot_of(kCard), "0000:b1:00");
  EXPECT_EQ(path_of(tree.sysfs(), kCard), tree.sysfs() / "bus/pci/devices/0000:b1:00.0");
}

TEST_F(PciFunction, IdsAreAsTheKernelWritesThem) {
  tree.attribute(kCard, "vendor", "0x8086\n");
  tree.attribute(kCard, "device", "0xbcce\n");
  tree.attribute(kCard, "class", "0x120000\n");
  tree.attribute(kCard, "subsystem_vendor", "0x8087\n");
  const PciIds ids = ids_of(tree.sysfs(), kCard);
  EXPECT_EQ(ids.vendor, "0x8086");
  EXPECT_EQ(ids.device, "0xbcce");
  EXPECT_EQ(ids.class_code, "0x120000");
  EXPECT_EQ(ids.subsystem_vendor, "0x8087");
  EXPECT_EQ(ids.subsystem_device, "") << "there is no such file";
}

TEST_F(PciFunction, ItsDriverGroupAndVfioDeviceAreNamed) {
  EXPECT_EQ(driver_of(tree.sysfs(), kCard), "");
  EXPECT_EQ(iommu_group_of(tree.sysfs(), kCard), "");
  EXPECT_EQ(vfio_device_of(tree.sysfs(), kCard), "");
  tree.driver(kCard, "vfio-pci");
  tree.iommu_group(kCard, "40");
  tree.attribute(kCard, "vfio-dev/vfio3/dev", "510:3\n");
  EXPECT_EQ(driver_of(tree.sysfs(), kCard), "vfio-pci");
  EXPECT_EQ(iommu_group_of(tree.sysfs(), kCard), "40");
  EXPECT_EQ(vfio_device_of(tree.sysfs(), kCard), "vfio3");
}

TEST_F(PciFunction, BridgesAreNoNeighbours) {
  EXPECT_THAT(iommu_neighbours_of(tree.sysfs(), kCard), IsEmpty()) << "it is in no group";
  for (const std::string& bus_id : {kOther, kCard, std::string("0000:b0:00.0")}) tree.iommu_group(bus_id, "7");
  tree.attribute("0000:b0:00.0", "class", "0x060400\n");
  tree.attribute(kOther, "class", "0x040300\n");
  tree.iommu_group("0000:c0:00.0", "8");
  EXPECT_THAT(iommu_neighbours_of(tree.sysfs(), kCard), ElementsAre(kOther));
}

TEST_F(PciFunction, VirtualFunctionsAreInTheOrderOfTheirNumbers) {
  EXPECT_EQ(virtual_functions_in_use(tree.sysfs(), kCard), 0u);
  EXPECT_THAT(virtual_functions_of(tree.sysfs(), kCard), IsEmpty());
  tree.attribute(kCard, "sriov_numvfs", "3\n");
  tree.virtual_function(kCard, 10, "0000:b1:01.2");
  tree.virtual_function(kCard, 2, "0000:b1:00.3");
  tree.virtual_function(kCard, 0, "0000:b1:00.5");  // a card may number them in another order than their addresses
  tree.attribute(kCard, "virtfn1", "not a link");
  tree.link(KernelTree::function(kCard) / "virtfnx", "../0000:b1:00.7");
  EXPECT_EQ(virtual_functions_in_use(tree.sysfs(), kCard), 3u);
  EXPECT_THAT(virtual_functions_of(tree.sysfs(), kCard), ElementsAre("0000:b1:00.5", "0000:b1:00.3", "0000:b1:01.2"));
  EXPECT_EQ(physical_function_of(tree.sysfs(), "0000:b1:00.5"), kCard);
  EXPECT_EQ(physical_function_of(tree.sysfs(), kCard), "");
}

TEST_F(PciFunction, ANumberOfVirtualFunctionsThatIsNoneCountsAsNone) {
  tree.attribute(kCard, "sriov_numvfs", "many\n");
  EXPECT_EQ(virtual_functions_in_use(tree.sysfs(), kCard), 0u);
}

TEST_F(PciFunction, TheLinkHasSpeedsAndWidths) {
  tree.attribute(kCard, "current_link_speed", "2.5 GT/s PCIe\n");
  tree.attribute(kCard, "max_link_speed", "16 GT/s\n");  // before Linux 5.7
  tree.attribute(kCard, "current_link_width", "8\n");
  tree.attribute(kCard, "max_link_width", "16\n");
  const PciLink link = link_of(tree.sysfs(), kCard);
  EXPECT_EQ(link.speed, 2.5);
  EXPECT_EQ(link.max_speed, 16.0);
  EXPECT_EQ(link.width, 8u);
  EXPECT_EQ(link.max_width, 16u);
}

TEST_F(PciFunction, WhatTheKernelDoesNotKnowOfTheLinkIsNone) {
  tree.attribute(kCard, "current_link_width", "0\n");
  tree.attribute(kCard, "max_link_width", "255\n");
  const PciLink widths = link_of(tree.sysfs(), kCard);
  EXPECT_EQ(widths.width, std::nullopt);
  EXPECT_EQ(widths.max_width, std::nullopt);
  EXPECT_EQ(widths.speed, std::nullopt) << "there is no such file";
  for (const char* text :
       {"Unknown\n", "Unknown speed\n", "", "16.0\n", "GT/s\n", "0 GT/s\n", "nan GT/s\n", "-8 GT/s\n"}) {
    tree.attribute(kCard, "current_link_speed", text);
    EXPECT_EQ(link_of(tree.sysfs(), kCard).speed, std::nullopt) << text;
  }
}

TEST_F(PciFunction, ErrorsAreTheTotals) {
  tree.attribute(kCard, "aer_dev_correctable", "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n");
  tree.attribute(kCard, "aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n");
  tree.attribute(kCard, "aer_dev_fatal", "Undefined 0\nTOTAL_ERR_NONFATAL 7\n");
  const PciErrors errors = errors_of(tree.sysfs(), kCard);
  EXPECT_EQ(errors.correctable, 3u);
  EXPECT_EQ(errors.nonfatal, 0u);
  EXPECT_EQ(errors.fatal, std::nullopt) << "the total is in another file";
}

TEST_F(PciFunction, ErrorsThatCannotBeReadAreNone) {
  for (const char* text : {"", "TOTAL_ERR_COR\n", "TOTAL_ERR_COR x\n", "TOTAL_ERR_COR 1x\n", "NOT_TOTAL_ERR_COR 1\n"}) {
    tree.attribute(kCard, "aer_dev_correctable", text);
    EXPECT_EQ(errors_of(tree.sysfs(), kCard).correctable, std::nullopt) << text;
  }
  EXPECT_EQ(errors_of(tree.sysfs(), kOther).fatal, std::nullopt);
}

// Source: the SR-IOV specification 1.1, 3.4.1: vendor and device id of a virtual function read as ones.
TEST_F(PciFunction, IsLostIfAllOfItsHeaderReadsAsOnes) {
  using namespace std::string_literals;
  EXPECT_FALSE(is_lost(tree.sysfs(), kCard)) << "the header cannot be read";
  const std::pair<std::string, bool> headers[] = {
      {"\x86\x80\x30\x0b\x06\x04\x10\x00\x00\x00\x00\x12\x00\x00\x00\x00"s, false},
      {"\xff\xff\xff\xff\x00\x00\x10\x00\x00\x00\x00\x12\x00\x00\x00\x00"s, false},
      {std::string(64, '\xff'), true}};
  for (const auto& [header, lost] : headers) {
    tree.attribute(kCard, "config", header);
    EXPECT_EQ(is_lost(tree.sysfs(), kCard), lost);
  }
}

}  // namespace
}  // namespace cardcage::hardware
