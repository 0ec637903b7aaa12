#include "modules/common/passthrough.h"

#include <gmock/gmock.h>

#include "tests/common/kernel_tree.h"

namespace cardcage::hardware {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kVirtual = "0000:b1:00.5", kSibling = "0000:b1:00.6", kPhysical = "0000:b1:00.0";

// A host that records the module's requests: drivers for functions, and nodes for containers.
class Asked {
 public:
  Asked() {
    host_.struct_size = sizeof host_;
    host_.host_data = this;
    host_.extension = [](const cage_host* host, const char* id) -> const void* {
      return std::string_view(id) == CAGE_HOST_WRITE ? &of(host).write_ : nullptr;
    };
    write_.struct_size = sizeof write_;
    write_.driver = [](const cage_host* host, const cage_call*, cage_str device, cage_str function, cage_str driver) {
      of(host).drivers.push_back(text(device) + " " + text(function) + " '" + text(driver) + "'");
      return cage_status{CAGE_OK};
    };
    edits_.struct_size = sizeof edits_;
    edits_.host_data = this;
    edits_.device_node = [](cage_edits* edits, std::int32_t, const cage_device_node* node) {
      const std::string host_path = text(node->host_path);
      static_cast<Asked*>(edits->host_data)
          ->nodes.push_back(host_path.empty() ? text(node->path) : host_path + " as " + text(node->path));
      return cage_status{CAGE_OK};
    };
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  cage::Host host() const { return cage::Host(&host_); }
  cage::Edit edit() { return {&edits_, 0}; }
  std::vector<std::string> drivers, nodes;

 private:
  static Asked& of(const cage_host* host) { return *static_cast<Asked*>(host->host_data); }
  static std::string text(cage_str raw) { return {raw.data == nullptr ? "" : raw.data, raw.size}; }
  cage_host host_{};
  cage_write write_{};
  cage_edits edits_{};
};

class PassthroughOfFpga : public ::testing::Test {
 protected:
  PassthroughOfFpga() {
    tree.virtual_function(kPhysical, 0, kVirtual);
    tree.virtual_function(kPhysical, 1, kSibling);
    tree.iommu_group(kVirtual, "61");
  }
  std::string refusal(const std::string& bus_id) const {
    try {
      passthrough.functions_with(bus_id);
    } catch (const cage::Error& error) {
      EXPECT_EQ(error.status(), CAGE_FAILED_PRECONDITION);
      return error.what();
    }
    return "it was not refused";
  }
  std::vector<std::string> nodes(Passthrough::Nodes wanted) {
    asked.nodes.clear();
    passthrough.add_to(asked.edit(), kVirtual, wanted);
    return asked.nodes;
  }
  KernelTree tree;
  Asked asked;
  Passthrough passthrough{asked.host(), tree.sysfs(), tree.devfs(), "FPGA", "vfio-pci"};
};

TEST_F(PassthroughOfFpga, AVirtualFunctionGoesAlone) {
  EXPECT_THAT(passthrough.functions_with(kVirtual), ElementsAre(kVirtual));
  tree.iommu_group(kSibling, "61");
  EXPECT_THAT(passthrough.functions_with(kVirtual), ElementsAre(kVirtual)) << "its neighbour has no driver";
  tree.driver(kSibling, "vfio-pci");
  EXPECT_THAT(passthrough.functions_with(kVirtual), ElementsAre(kVirtual)) << "its neighbour is given away, too";
}

TEST_F(PassthroughOfFpga, ANeighbourOfAVirtualFunctionIsNotTakenFromItsDriver) {
  tree.iommu_group(kPhysical, "61");
  tree.driver(kPhysical, "dfl-pci");
  EXPECT_EQ(refusal(kVirtual),
            "FPGA 0000:b1:00.5 cannot be passed through: its IOMMU group has 0000:b1:00.0 with the driver 'dfl-pci', "
            "which would go with it");
}

TEST_F(PassthroughOfFpga, TheFunctionsOfAWholeCardGoTogether) {
  for (const char* bus_id : {"0000:65:00.0", "0000:65:00.1", "0000:64:00.0"}) tree.iommu_group(bus_id, "7");
  tree.driver("0000:65:00.0", "xclmgmt");
  tree.driver("0000:65:00.1", "xocl");
  tree.driver("0000:64:00.0", "pcieport");
  tree.attribute("0000:64:00.0", "class", "0x060400\n");
  EXPECT_THAT(passthrough.functions_with("0000:65:00.1"), ElementsAre("0000:65:00.1", "0000:65:00.0"));
  tree.iommu_group("0000:66:00.0", "7");
  EXPECT_THAT(passthrough.functions_with("0000:65:00.1"), ElementsAre("0000:65:00.1", "0000:65:00.0"))
      << "another card without a driver stays as it is";
  tree.driver("0000:66:00.0", "nvme");
  EXPECT_THAT(refusal("0000:65:00.1"), HasSubstr("has 0000:66:00.0 with the driver 'nvme'"));
}

TEST_F(PassthroughOfFpga, WhatForbidsItIsNamed) {
  EXPECT_THAT(refusal(kPhysical), HasSubstr("FPGA 0000:b1:00.0 cannot be passed through: it is in no IOMMU group"));
  tree.iommu_group(kPhysical, "60");
  tree.attribute(kPhysical, "sriov_numvfs", "2\n");
  EXPECT_THAT(refusal(kPhysical), HasSubstr("it has virtual functions; remove them"));
  tree.attribute(kPhysical, "sriov_numvfs", "0\n");
  EXPECT_THAT(passthrough.functions_with(kPhysical), ElementsAre(kPhysical));
}

TEST_F(PassthroughOfFpga, TheHostBindsAndRestoresDrivers) {
  const cage_call raw{};
  const cage::Call call(&raw);
  passthrough.give(call, "fpga-1", kVirtual);
  EXPECT_THAT(asked.drivers, ElementsAre("fpga-1 0000:b1:00.5 'vfio-pci'"));
  passthrough.take_back(call, "fpga-1", kVirtual);
  EXPECT_EQ(asked.drivers.back(), "fpga-1 0000:b1:00.5 ''");
  asked.drivers.clear();
  EXPECT_THROW(passthrough.give(call, "fpga-0", kPhysical), cage::Error);
  EXPECT_THAT(asked.drivers, IsEmpty()) << "it is in no IOMMU group";
}

TEST_F(PassthroughOfFpga, TheNodeIsThatOfTheGroupWithoutIommufd) {
  EXPECT_THAT(nodes({}), ElementsAre("/dev/vfio/61"));
  EXPECT_THAT(nodes({.with_api_device = true}), ElementsAre("/dev/vfio/61", "/dev/vfio/vfio"));
  tree.attribute(kVirtual, "vfio-dev/vfio3/dev", "510:3\n");
  EXPECT_THAT(nodes({.prefer_iommufd = true, .with_api_device = true}), ElementsAre("/dev/vfio/61", "/dev/vfio/vfio"))
      << "the kernel has no iommufd";
}

// drivers/vfio/group.c: vfio_noiommu_group_alloc() makes the group when the driver is bound.
TEST_F(PassthroughOfFpga, AFunctionWithoutAnIommuIsGivenIfThatIsAllowed) {
  const Passthrough allowed(asked.host(), tree.sysfs(), tree.devfs(), "FPGA", "vfio-pci", true);
  EXPECT_THAT(allowed.functions_with(kSibling), ElementsAre(kSibling));
  tree.file("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n");
  EXPECT_THROW(allowed.functions_with(kSibling), cage::Error) << "the kernel would not bind it";
  tree.file("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
  EXPECT_THAT(allowed.functions_with(kSibling), ElementsAre(kSibling));
  tree.iommu_group(kSibling, "3");
  tree.file("sys/kernel/iommu_groups/3/name", "vfio-noiommu\n");
  EXPECT_THAT(allowed.functions_with(kSibling), ElementsAre(kSibling));
  allowed.add_to(asked.edit(), kSibling, {.with_api_device = true});
  EXPECT_THAT(asked.nodes, ElementsAre("/dev/vfio/noiommu-3 as /dev/vfio/3", "/dev/vfio/vfio"));
  EXPECT_THAT(refusal(kSibling), HasSubstr("no IOMMU keeps its user from the node's memory"));
  EXPECT_THROW(passthrough.add_to(asked.edit(), kSibling, {}), cage::Error);
}

TEST_F(PassthroughOfFpga, IommufdIsUsedWhereKernelAndDriverHaveIt) {
  tree.file("dev/iommu", "");
  EXPECT_THAT(nodes({.prefer_iommufd = true}), ElementsAre("/dev/vfio/61")) << "the driver does not support it";
  tree.attribute(kVirtual, "vfio-dev/vfio3/dev", "510:3\n");
  EXPECT_THAT(nodes({.prefer_iommufd = true}), ElementsAre("/dev/vfio/devices/vfio3"));
  EXPECT_THAT(nodes({.prefer_iommufd = true, .with_api_device = true}),
              ElementsAre("/dev/vfio/devices/vfio3", "/dev/iommu"));
  EXPECT_THAT(nodes({.with_api_device = true}), ElementsAre("/dev/vfio/61", "/dev/vfio/vfio"));
}

}  // namespace
}  // namespace cardcage::hardware
