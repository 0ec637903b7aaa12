// Checks the tree against the kernel's documents and sources, by literal text: drivers/fpga/dfl-fme-main.c,
// dfl-afu-main.c, dfl-fme-error.c, dfl-afu-error.c, fpga-mgr.c, fpga-region.c and
// Documentation/ABI/testing/sysfs-bus-pci.
#include "sim/fpga/tree.h"
#include "tests/sim/fpga/text_of.h"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "sim/scratch_folder.h"

namespace cardcage::fake_fpga {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

class FakeFpgaTree : public ::testing::Test {
 protected:
  fs::path write(std::vector<Card> cards, const std::string& node_number = "") {
    write_tree(folder.path(), std::move(cards), node_number);
    return folder / "sys";
  }
  const ScratchFolder folder{"/dev/shm"};  // thousands of small files
};

TEST_F(FakeFpgaTree, AClassicCardHasTheFoldersOfTheKernel) {
  const fs::path sys = write({n3000()});
  const fs::path card = sys / "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0";
  EXPECT_EQ(fs::read_symlink(sys / "bus/pci/devices/0000:3b:00.0"),
            "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  EXPECT_THAT(names_in(sys / "class/fpga_region"), UnorderedElementsAre("region0", "region1"));
  const fs::path base = fs::canonical(sys / "class/fpga_region/region0");
  EXPECT_EQ(base, fs::canonical(card) / "fpga_region/region0");
  EXPECT_EQ(fs::canonical(base / "device"), fs::canonical(card));
  EXPECT_FALSE(fs::exists(base / "compat_id"));
  EXPECT_EQ(fs::canonical(sys / "class/fpga_region/region1"), base / "dfl-fme.0/dfl-fme-region.0/fpga_region/region1");
  EXPECT_EQ(fs::canonical(sys / "class/fpga_manager/fpga0"), base / "dfl-fme.0/dfl-fme-mgr.0/fpga_manager/fpga0");
  EXPECT_EQ(fs::canonical(sys / "class/fpga_bridge/br0"), base / "dfl-fme.0/dfl-fme-bridge.0/fpga_bridge/br0");
  EXPECT_EQ(fs::canonical(sys / "bus/platform/devices/dfl-port.0"), base / "dfl-port.0");
  EXPECT_THAT(names_in(folder / "dev"), UnorderedElementsAre("dfl-fme.0", "dfl-port.0"));
}

TEST_F(FakeFpgaTree, FilesOfTheFmeReadAsTheDriverPrintsThem) {
  const fs::path fme = write({n3000()}) / "bus/platform/devices/dfl-fme.0";
  EXPECT_EQ(text_of(fme / "dev"), "238:0\n");
  EXPECT_EQ(text_of(fme / "ports_num"), "1\n");
  EXPECT_EQ(text_of(fme / "bitstream_id"), "0x23000410010310\n");
  EXPECT_EQ(text_of(fme / "bitstream_metadata"), "0x1904190\n");
  EXPECT_EQ(text_of(fme / "socket_id"), "0\n");
  EXPECT_THAT(names_in(fme / "errors"),
              UnorderedElementsAre("pcie0_errors", "pcie1_errors", "nonfatal_errors", "catfatal_errors",
                                   "inject_errors", "fme_errors", "first_error", "next_error"));
  EXPECT_EQ(text_of(fme / "errors/catfatal_errors"), "0x0\n");
  const fs::path manager = fme / "dfl-fme-mgr.0/fpga_manager/fpga0";
  EXPECT_EQ(text_of(manager / "name"), "DFL FME FPGA Manager\n");
  EXPECT_EQ(text_of(manager / "state"), "unknown\n");
  EXPECT_EQ(text_of(manager / "status"), "");
  EXPECT_EQ(text_of(fme / "dfl-fme-region.0/fpga_region/region1/compat_id"), "a5d72a3cc8b04939912cf715e5dc10ca\n");
}

TEST_F(FakeFpgaTree, FilesOfAPortReadAsTheDriverPrintsThem) {
  Card card = n3000();
  card.dfl->ports[0].errors = 0x21;
  card.dfl->ports[0].malformed_low = 0xab;
  card.dfl->ports[0].power_state = 6;
  const fs::path port = write({card}) / "bus/platform/devices/dfl-port.0";
  EXPECT_EQ(text_of(port / "dev"), "237:0\n");
  EXPECT_EQ(text_of(port / "id"), "0\n");
  EXPECT_EQ(text_of(port / "afu_id"), "9aeffe5f84570612c000c9660d824272\n");
  EXPECT_EQ(text_of(port / "power_state"), "0x6\n");
  EXPECT_EQ(text_of(port / "ap1_event"), "0\n");
  EXPECT_EQ(text_of(port / "errors/errors"), "0x21\n");
  EXPECT_EQ(text_of(port / "errors/first_error"), "0x0\n");
  EXPECT_EQ(text_of(port / "errors/first_malformed_req"), "0x000000000000000000000000000000ab\n");
  EXPECT_TRUE(fs::exists(port / "userclk_freqsts")) << "revision 0";
}

TEST_F(FakeFpgaTree, ThePciFunctionHasWhatTheBusShows) {
  Card card = d5005();
  card.functions[0].link_width = 8;
  card.functions[0].aer.fatal["DLP"] = 3;
  const fs::path function = write({card}) / "bus/pci/devices/0000:af:00.0";
  EXPECT_EQ(text_of(function / "vendor"), "0x8086\n");
  EXPECT_EQ(text_of(function / "device"), "0x0b2b\n");
  EXPECT_EQ(text_of(function / "subsystem_device"), "0x138d\n");
  EXPECT_EQ(text_of(function / "class"), "0x120000\n");
  EXPECT_EQ(text_of(function / "numa_node"), "1\n");
  EXPECT_EQ(text_of(function / "current_link_speed"), "8.0 GT/s PCIe\n");
  EXPECT_EQ(text_of(function / "current_link_width"), "8\n");
  EXPECT_EQ(text_of(function / "max_link_width"), "16\n");
  EXPECT_EQ(text_of(function / "driver_override"), "(null)\n");
  EXPECT_THAT(text_of(function / "aer_dev_fatal"), HasSubstr("\nDLP 3\n"));
  EXPECT_THAT(text_of(function / "aer_dev_fatal"), HasSubstr("\nTOTAL_ERR_FATAL 3\n"));
  EXPECT_THAT(text_of(function / "aer_dev_correctable"), HasSubstr("\nTOTAL_ERR_COR 0\n"));
  EXPECT_THAT(text_of(function / "aer_dev_nonfatal"), HasSubstr("\nTOTAL_ERR_NONFATAL 0\n"));
  EXPECT_EQ(text_of(function / "config").substr(0, 4), "\x86\x80\x2b\x0b");
  EXPECT_EQ(fs::canonical(function / "driver"), fs::canonical(folder / "sys/bus/pci/drivers/dfl-pci"));
  EXPECT_TRUE(fs::exists(function / "iommu_group/devices/0000:af:00.0"));
}

TEST_F(FakeFpgaTree, AnOfsCardHasAcceleratorsOnVirtualFunctionsOnly) {
  const fs::path sys = write({n6001()});
  const fs::path functions = sys / "bus/pci/devices";
  EXPECT_EQ(text_of(functions / "0000:b1:00.0/device"), "0xbcce\n");
  EXPECT_EQ(text_of(functions / "0000:b1:00.0/sriov_totalvfs"), "3\n");
  EXPECT_EQ(text_of(functions / "0000:b1:00.0/sriov_numvfs"), "3\n");
  EXPECT_FALSE(fs::exists(sys / "bus/platform/devices/dfl-port.0/afu_id"));
  EXPECT_EQ(text_of(sys / "bus/platform/devices/dfl-fme.0/bitstream_id"), "0x5010202aecbd6e5\n");
  for (const char* address : {"0000:b1:00.5", "0000:b1:00.6", "0000:b1:00.7"}) {
    EXPECT_EQ(text_of(functions / address / "device"), "0xbccf\n");
    EXPECT_EQ(fs::canonical(functions / address / "driver").filename(), "vfio-pci");
    EXPECT_EQ(fs::canonical(functions / address / "physfn").filename(), "0000:b1:00.0");
    const std::string group = fs::canonical(functions / address / "iommu_group").filename();
    EXPECT_TRUE(fs::exists(folder / "dev" / "vfio" / group));
    EXPECT_EQ(names_in(functions / address / "iommu_group/devices"), std::vector<std::string>{address});
  }
  EXPECT_EQ(fs::canonical(functions / "0000:b1:00.0/virtfn2").filename(), "0000:b1:00.7");
  for (const char* address : {"0000:b1:00.1", "0000:b1:00.2", "0000:b1:00.4"}) {
    const fs::path regions = functions / address / "fpga_region";
    ASSERT_EQ(names_in(regions).size(), 1u);
    EXPECT_THAT(names_in(regions / names_in(regions)[0]), UnorderedElementsAre("device", "subsystem"));
  }
}

TEST_F(FakeFpgaTree, AnAlveoCardHasBothFunctions) {
  const fs::path functions = write({u250()}) / "bus/pci/devices";
  const fs::path user = functions / "0000:65:00.1", management = functions / "0000:65:00.0";
  EXPECT_TRUE(fs::exists(management / "mgmt_pf"));
  EXPECT_FALSE(fs::exists(management / "user_pf"));
  EXPECT_EQ(text_of(management / "instance"), "25856\n") << "bus * 256 + device * 8 + function";
  EXPECT_EQ(text_of(management / "icap.m.25856/sec_level"), "0\n");
  EXPECT_EQ(text_of(management / "firewall.m.25856/level"), "0\n");
  EXPECT_TRUE(fs::exists(user / "user_pf"));
  EXPECT_EQ(text_of(user / "device"), "0x5005\n");
  EXPECT_EQ(text_of(user / "ready"), "0x1\n");
  EXPECT_EQ(text_of(user / "mig_calibration"), "1\n");
  EXPECT_EQ(text_of(user / "rom.u.25857/VBNV"), "xilinx_u250_gen3x16_xdma_shell_4_1\n");
  EXPECT_EQ(text_of(user / "drm/renderD128/dev"), "226:128\n");
  EXPECT_TRUE(fs::exists(folder / "dev" / "dri/renderD128"));
  EXPECT_TRUE(fs::exists(folder / "dev" / "xclmgmt25856"));
}

TEST_F(FakeFpgaTree, AnSocHasAManagerWithoutAPciFunction) {
  const fs::path manager = write({kria()}) / "class/fpga_manager/fpga0";
  EXPECT_EQ(text_of(manager / "name"), "Xilinx ZynqMP FPGA Manager\n");
  EXPECT_EQ(text_of(manager / "state"), "operating\n");
  EXPECT_EQ(text_of(manager / "flags"), "0\n");
  EXPECT_TRUE(fs::exists(manager / "firmware"));
  EXPECT_EQ(fs::canonical(manager / "device").filename(), "firmware:zynqmp-firmware:pcap");
}

TEST_F(FakeFpgaTree, BrokenCardsShowIt) {
  Card busy = n3000("0000:3b:00.0"), bare = n3000("0000:3d:00.0"), gone = n3000("0000:3f:00.0");
  busy.dfl->ports[0].disabled = 1;
  bare.dfl->interface_id.reset();
  gone.dfl->shell_gone = true;
  const fs::path sys = write({busy, bare, gone, wedged(n3000("0000:41:00.0"))});
  EXPECT_EQ(text_of(sys / "bus/platform/devices/dfl-port.0/afu_id"), "") << "EBUSY cannot be told in a plain file";
  EXPECT_FALSE(fs::exists(sys / "bus/pci/devices/0000:3d:00.0/fpga_region/region2/dfl-fme.1/dfl-fme-region.1/"
                                "fpga_region/region3/compat_id"));
  EXPECT_TRUE(fs::exists(sys / "bus/pci/devices/0000:3f:00.0/vendor"));
  EXPECT_EQ(text_of(sys / "bus/platform/devices/dfl-port.3/afu_id"), "ffffffffffffffffffffffffffffffff\n");
  EXPECT_FALSE(fs::exists(sys / "bus/pci/devices/0000:3f:00.0/fpga_region"));
}

TEST_F(FakeFpgaTree, NodesMayHaveTheNumberOfAnotherDevice) {
  const fs::path sys = write({n3000(), u250()}, "1:3");
  EXPECT_EQ(text_of(sys / "bus/platform/devices/dfl-port.0/dev"), "1:3\n");
  EXPECT_EQ(text_of(sys / "bus/pci/devices/0000:65:00.1/drm/renderD128/dev"), "1:3\n");
}

TEST_F(FakeFpgaTree, NumbersChangeOverARebootAndAddressesDoNot) {
  Machine machine;
  machine.add(four_ports("0000:5e:00.0"));
  machine.add(n3000("0000:3b:00.0"));
  EXPECT_EQ(machine.card("0000:3b:00.0")->number("port/0"), 4u);
  machine.renumber();
  EXPECT_EQ(machine.card("0000:3b:00.0")->number("port/0"), 0u);
  EXPECT_EQ(machine.card("0000:5e:00.0")->number("port/3"), 4u);
  Tree tree = lay_out(machine);
  EXPECT_EQ(tree.find("sys/bus/platform/devices/dfl-port.4/id"), nullptr) << "it is a link";
  EXPECT_THAT(tree.find("sys/bus/platform/devices/dfl-port.4")->text, HasSubstr("0000:5e:00.0/fpga_region/"));
  machine.remove("0000:3b:00.0");
  machine.add(d5005("0000:af:00.0"));
  EXPECT_EQ(machine.card("0000:af:00.0")->number("port/0"), 0u) << "the lowest number that is free";
}

TEST_F(FakeFpgaTree, EightCardsOfFourRegionsAreWrittenInTime) {
  std::vector<Card> cards;
  for (int i = 0; i < 8; ++i) cards.push_back(four_ports("0000:" + std::to_string(31 + 2 * i) + ":00.0", i / 4));
  const auto start = std::chrono::steady_clock::now();
  const fs::path sys = write(std::move(cards));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(names_in(sys / "class/fpga_region").size(), 8u + 32u);
  EXPECT_TRUE(fs::exists(folder / "dev" / "dfl-port.31"));
}

TEST(FakeFpgaCards, AreNamed) {
  EXPECT_EQ(described("n3000@0000:17:00.0").address, "0000:17:00.0");
  EXPECT_EQ(described("kria").dfl.has_value(), false);
  EXPECT_THROW(described("n4000"), std::invalid_argument);
}

TEST(FakeFpgaNumbers, AreReadAsTheKernelReadsThem) {
  EXPECT_EQ(kernel_number("0x1F\n"), 0x1fu);
  EXPECT_EQ(kernel_number("12"), 12u);
  EXPECT_EQ(kernel_number(""), std::nullopt);
  EXPECT_EQ(kernel_number("\n"), std::nullopt);
  EXPECT_EQ(kernel_number("12 "), std::nullopt);
  EXPECT_EQ(kernel_number("-1"), std::nullopt);
  EXPECT_EQ(kernel_number("1\n\n"), std::nullopt);
}

}  // namespace
}  // namespace cardcage::fake_fpga
