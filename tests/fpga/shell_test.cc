// Tests the version in the identifier of a card's shell. The expected versions are those that OPAE prints for its
// recorded cards.
#include <gmock/gmock.h>

#include "modules/fpga/dfl/card.h"
#include "modules/fpga/dfl/port.h"
#include "tests/fpga/node_files.h"

namespace cardcage::fpga {
namespace {

class FpgaShell : public NodeFiles {
 protected:
  std::string version_of(const std::string& id) const {
    write("fme/bitstream_id", id + "\n");
    DflEngine engine;
    engine.folder = folder / "fme";
    const auto shell = read_shell(engine);
    return shell ? shell->version : "none";
  }
};

TEST_F(FpgaShell, VersionsAreThoseOfOpae) {
  EXPECT_EQ(version_of("0x113000200000177"), "1.1.3");
  EXPECT_EQ(version_of("0x202000200000237"), "2.0.2");
  EXPECT_EQ(version_of("0x2300011001030f"), "0.2.3");
  EXPECT_EQ(version_of(""), "none");
}

// The texts are those of the kernel's intel-m10-bmc-sec-update.c.
TEST_F(FpgaShell, ACardTellsWhoseSignaturesItDemands) {
  const std::string card = "sys/devices/pci0000:3a/0000:3b:00.0", update = card + "/fme/n3000bmc-sec-update.1.auto";
  write(card + "/vendor", "0x8086\n");
  link("sys/bus/pci/devices/0000:3b:00.0", "../../../devices/pci0000:3a/0000:3b:00.0");
  EXPECT_EQ(root_entry_hash(tools.node, "0000:3b:00.0"), std::nullopt);
  write(update + "/security/pr_root_entry_hash", "hash not programmed\n");
  link("sys/bus/platform/drivers/intel-m10bmc-sec-update/n3000bmc-sec-update.1.auto",
       "../../../../devices/pci0000:3a/0000:3b:00.0/fme/n3000bmc-sec-update.1.auto");
  EXPECT_EQ(root_entry_hash(tools.node, "0000:3b:00.0"), "");
  write(update + "/security/pr_root_entry_hash", std::string(64, 'a') + "\n");
  EXPECT_EQ(root_entry_hash(tools.node, "0000:3b:00.0"), std::string(64, 'a'));
  EXPECT_EQ(root_entry_hash(tools.node, "0000:3b:00.1"), std::nullopt) << "another card";
}

// The ids are those without a product name in OPAE's opae.cfg.
TEST_F(FpgaShell, CardsOfEarlyAccessHaveNames) {
  const std::string function = "sys/bus/pci/devices/0000:3b:00.0/";
  write(function + "vendor", "0x8086\n");
  for (const auto& [device, name] : std::map<std::string, std::string>{
           {"0xaf00", "OFS"}, {"0xaf01", "OFS"}, {"0xbcce", "OFS"}, {"0x0ddb", "CMC"}, {"0x1234", ""}}) {
    write(function + "device", device + "\n");
    EXPECT_EQ(model_of(tools.node, "0000:3b:00.0"), name) << device;
  }
}

TEST_F(FpgaShell, PortsOfAVirtualFunctionShowThatOfTheirCard) {
  const std::string card = "sys/bus/pci/devices/0000:3b:00.0/", function = "sys/bus/pci/devices/0000:3b:00.5/";
  write(card + "fpga_region/region0/dfl-fme.0/bitstream_id", "0x113000200000177\n");
  write(card + "fpga_region/region0/dfl-fme.0/dfl-fme-region.1/fpga_region/region1/compat_id",
        "a5d72a3cc8b04939912cf715e5dc10ca\n");
  write(function + "fpga_region/region2/dfl-port.1/id", "1\n");
  write(function + "fpga_region/region2/dfl-port.1/afu_id", "d8424dc4a4a3c413f89e433683f9040b\n");
  link(function + "physfn", "../0000:3b:00.0");
  const auto found = read_dfl_card(tools.node, "0000:3b:00.5");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->ports.size(), 1u);
  const Port port(tools, *found, found->ports.front());
  EXPECT_EQ(port.interface_id(), "a5d72a3cc8b04939912cf715e5dc10ca");
  EXPECT_EQ(port.identity().physical, "0000:3b:00.0");
  EXPECT_NE(port.why_not_programmable(), "") << "its card programs it";
  cage::Device device("x", "port");
  port.describe(device);
  EXPECT_THAT(attributes_of(device), ::testing::Contains(::testing::Pair("shellVersion", "1.1.3")));
}

}  // namespace
}  // namespace cardcage::fpga
