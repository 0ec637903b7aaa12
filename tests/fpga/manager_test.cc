#include "modules/fpga/manager/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/fpga/manager/firmware.h"
#include "tests/fpga/node_files.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kDevice = "firmware:zynqmp-firmware:pcap";
constexpr const char* kOverlays = "sys/kernel/config/device-tree/overlays";

class ManagerTest : public NodeFiles {
 protected:
  ManagerTest() {
    add(0, "platform/firmware:zynqmp-firmware", kDevice);
    set("name", "Xilinx ZynqMP FPGA Manager\n");
    set("state", "unknown\n");
    write("sys/firmware/devicetree/base/model", std::string("ZynqMP KV260 revB\0", 18));
    write("sys/module/firmware_class/parameters/path", (folder / "catalogue").native() + "\n");
  }

  void add(int number, const std::string& parent, const std::string& device) const {
    const std::string name = "fpga" + std::to_string(number), place = "devices/" + parent + "/" + device;
    write("sys/" + place + "/fpga_manager/" + name + "/state", "unknown\n");
    link("sys/" + place + "/fpga_manager/" + name + "/device", "../../../" + device);
    link("sys/class/fpga_manager/" + name, "../../" + place + "/fpga_manager/" + name);
  }
  void set(const std::string& attribute, const std::string& value) const {
    write("sys/class/fpga_manager/fpga0/" + attribute, value);
  }
  // Adds the files of AMD's kernel.
  void take_files() {
    set("firmware", "");
    set("flags", "1\n");
    host.on_write = [this](const std::string& path, const std::string&) {
      if (path.ends_with("/firmware")) set("state", "operating\n");
    };
  }
  void take_overlays() const { fs::create_directories(folder / kOverlays); }
  // Acts as configfs would, in a folder that a plain rmdir(2) removes.
  void apply_overlays() {
    take_overlays();
    host.on_write = [this](const std::string& path, const std::string&) {
      const fs::path overlay = fs::path(path).parent_path();
      fs::create_symlink(folder / "applied", overlay / "status");
      set("state", "operating\n");
    };
    write("applied", "applied\n");
  }
  Targets all() const {
    Targets targets;
    add_managers(tools, targets);
    return targets;
  }
  std::unique_ptr<Target> fpga() const { return std::move(all().front()); }
  Entry raw() const { return bitstream(Format::kRaw, "filter.bit.bin"); }
  Entry with_overlay() const {
    Entry entry = raw();
    entry.overlay = folder / "catalogue/filter.dtbo";
    write("catalogue/filter.dtbo", "overlay");
    return entry;
  }
  std::string attribute(const std::string& name) const {
    return (folder / "sys/class/fpga_manager/fpga0" / name).native();
  }
  std::string refusal(const Entry& entry) const {
    return error_of(CAGE_FAILED_PRECONDITION, [&] { fpga()->require_fit(entry); });
  }
};

TEST_F(ManagerTest, HasTheIdentityOfItsDevice) {
  const auto found = fpga();
  const Identity& identity = found->identity();
  EXPECT_EQ(identity.id, "manager/firmware:zynqmp-firmware:pcap");
  EXPECT_EQ(identity.name, "fpga-pcap");
  EXPECT_EQ(identity.kind, "manager");
  EXPECT_EQ(identity.card, identity.id);
  EXPECT_EQ(identity.bus_id, "");
  EXPECT_EQ(identity.model, "KV260");
  EXPECT_EQ(found->interface_id(), "");
  EXPECT_FALSE(found->shows_function());
  cage::Device device("x", "fpga");
  found->describe(device);
  EXPECT_THAT(attributes_of(device), ElementsAre(Pair("manager", "Xilinx ZynqMP FPGA Manager")));
}

TEST_F(ManagerTest, TextOfTheMachineFitsAnAttribute) {
  EXPECT_EQ(board_of("Board-" + std::string(57, '1') + "\u00e9 and more"), "Board-" + std::string(57, '1'));
  EXPECT_EQ(board_of("K\xff"
                     "26"),
            "K?26");
}

TEST_F(ManagerTest, LeavesCardsOut) {
  add(1, "pci0000:3a/0000:3a:00.0/0000:3b:00.0/fpga_region/region0/dfl-fme.0", "dfl-fme-mgr.0");
  add(2, "pci0000:00/0000:00:01.0", "0000:01:00.0");
  EXPECT_EQ(all().size(), 1u);
}

TEST_F(ManagerTest, NumbersEqualNamesByDevice) {
  add(1, "platform/axi", "b0000000.pcap");
  add(2, "platform/axi", "a0000000.pcap");
  std::vector<std::string> names;
  for (const auto& target : all()) names.push_back(target->identity().id + " " + target->identity().name);
  EXPECT_THAT(names, ElementsAre("manager/a0000000.pcap fpga-pcap", "manager/b0000000.pcap fpga-pcap-2",
                                 "manager/firmware:zynqmp-firmware:pcap fpga-pcap-3"));
}

TEST_F(ManagerTest, NeedsAKernelThatPrograms) {
  EXPECT_THAT(fpga()->why_not_programmable(), HasSubstr("only through the device tree that the node booted with"));
  EXPECT_THAT(refusal(raw()), HasSubstr("only through the device tree"));
  take_overlays();
  EXPECT_EQ(fpga()->why_not_programmable(), "");
  EXPECT_THAT(refusal(raw()), HasSubstr("add the key 'overlay'"));
  fpga()->require_fit(with_overlay());
  fs::remove_all(folder / "sys/kernel");
  take_files();
  EXPECT_EQ(fpga()->why_not_programmable(), "");
  fpga()->require_fit(raw());
  EXPECT_THAT(refusal(with_overlay()), HasSubstr("mount configfs"));
}

TEST_F(ManagerTest, RefusesWhatIsForOthers) {
  take_files();
  Entry entry = raw();
  entry.card = "ZCU102";
  EXPECT_THAT(refusal(entry), HasSubstr("for ZCU102, and the board is a KV260"));
  entry.card = "KV260";
  fpga()->require_fit(entry);
  entry.bitstream.interface_id = "f2b82d53372f45a4bbe93d1c980216da";
  EXPECT_THAT(refusal(entry), HasSubstr("remove the key 'interface'"));
  EXPECT_THAT(refusal(bitstream(Format::kXclbin, "filter.xclbin")), HasSubstr("an xclbin file, which is for PCI"));
  EXPECT_THAT(refusal(bitstream(Format::kGbs, "filter.gbs")), HasSubstr("a GBS file"));
}

TEST_F(ManagerTest, LoadsAFileByName) {
  take_files();
  fpga()->program(host.call(), raw());
  EXPECT_THAT(host.writes, ElementsAre(Pair(attribute("flags"), "0"), Pair(attribute("firmware"), "filter.bit.bin")));
}

TEST_F(ManagerTest, NamesTheFileFromTheKernelsFolder) {
  take_files();
  write("sys/module/firmware_class/parameters/path", folder.path().native());
  fpga()->program(host.call(), raw());
  EXPECT_EQ(host.writes.back().second, "catalogue/filter.bit.bin");
}

TEST_F(ManagerTest, WritesNothingIfTheFileIsAnotherOne) {
  take_files();
  const Entry entry = raw();
  write("catalogue/filter.bit.bin", "something new");
  EXPECT_THAT(error_of(CAGE_DATA_LOSS, [&] { fpga()->program(host.call(), entry); }), HasSubstr("SHA-256"));
  EXPECT_THAT(host.writes, IsEmpty());
}

TEST_F(ManagerTest, RefusesAFileThatTheKernelCannotFind) {
  take_files();
  write("sys/module/firmware_class/parameters/path", "");
  const std::string error = refusal(raw());
  EXPECT_THAT(error,
              HasSubstr("bitstream 'filter' cannot be loaded into FPGA manager/firmware:zynqmp-firmware:pcap: "));
  EXPECT_THAT(error, HasSubstr("add firmware_class.path=" + (folder / "catalogue").native()));
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { fpga()->program(host.call(), raw()); }), HasSubstr(error));
  EXPECT_THAT(host.writes, IsEmpty());
}

TEST_F(ManagerTest, TellsWhatTheManagerSays) {
  take_files();
  host.on_write = [this](const std::string& path, const std::string&) {
    if (!path.ends_with("/firmware")) return;
    set("state", "write error\n");
    set("status", "reconfig CRC error\n");
    throw cage::Error(CAGE_UNAVAILABLE, "Input/output error");
  };
  EXPECT_THAT(error_of(CAGE_UNAVAILABLE, [&] { fpga()->program(host.call(), raw()); }),
              HasSubstr(": Input/output error; the FPGA manager says state 'write error', reconfig CRC error"));
}

TEST_F(ManagerTest, BelievesTheStateAndNotTheWrite) {
  take_files();
  host.on_write = [](const auto&, const auto&) {};
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { fpga()->program(host.call(), raw()); }),
              HasSubstr("it was written, but the FPGA manager says state 'unknown'"));
}

TEST_F(ManagerTest, AppliesAnOverlay) {
  apply_overlays();
  fpga()->program(host.call(), with_overlay());
  const fs::path overlay = folder / kOverlays / "cardcage-fpga-pcap";
  EXPECT_THAT(host.writes, ElementsAre(Pair((overlay / "path").native(), "filter.dtbo")));
  write("sys/kernel/config/device-tree/overlays/cardcage-fpga-pcap/path", "filter.dtbo\n");
  EXPECT_EQ(fpga()->function().id, "");
  EXPECT_THAT(fpga()->function().why, HasSubstr("the overlay 'filter.dtbo' is applied"));
}

TEST_F(ManagerTest, RemovesAnOverlayThatIsNotApplied) {
  take_overlays();
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { fpga()->program(host.call(), with_overlay()); }),
              HasSubstr("is '' and not applied"));
  EXPECT_FALSE(fs::exists(folder / kOverlays / "cardcage-fpga-pcap"));
  host.on_write = [](const auto&, const auto&) { throw cage::Error(CAGE_UNAVAILABLE, "Invalid argument"); };
  EXPECT_THAT(error_of(CAGE_UNAVAILABLE, [&] { fpga()->program(host.call(), with_overlay()); }),
              HasSubstr("Invalid argument; the FPGA manager says state 'unknown'"));
  EXPECT_FALSE(fs::exists(folder / kOverlays / "cardcage-fpga-pcap"));
}

TEST_F(ManagerTest, RemovesTheOverlayOfTheEarlierBitstream) {
  apply_overlays();
  const fs::path overlay = folder / kOverlays / "cardcage-fpga-pcap";
  fs::create_directory(overlay);
  fpga()->program(host.call(), with_overlay());
  fs::remove(overlay / "status");
  fpga()->reset(host.call());
  EXPECT_FALSE(fs::exists(overlay));
  fpga()->reset(host.call());  // a second reset has nothing to do
}

TEST_F(ManagerTest, TellsThatAnOverlayStays) {
  take_overlays();
  write("sys/kernel/config/device-tree/overlays/cardcage-fpga-pcap/busy", "");
  EXPECT_THAT(error_of(CAGE_UNAVAILABLE, [&] { fpga()->reset(host.call()); }),
              HasSubstr("of an earlier bitstream cannot be removed: Directory not empty"));
}

// An overlay names the file without a folder, and the kernel would look for that name elsewhere.
TEST_F(ManagerTest, RefusesAnOverlayInAFolderThatTheKernelDoesNotSearch) {
  take_overlays();
  write("sys/module/firmware_class/parameters/path", folder.path().native());
  EXPECT_THAT(refusal(with_overlay()), HasSubstr("its overlay names 'filter.bit.bin', which the kernel does not look "
                                                 "for in " +
                                                 (folder / "catalogue").native()));
}

TEST_F(ManagerTest, GivesTheNodesOfTheBitstream) {
  Entry entry = raw();
  entry.nodes = {"/dev/uio4", "/dev/filter/0"};
  write("sys/class/uio/uio4/dev", "243:4\n");
  RecordedEdits edits;
  fpga()->add_to(edits.edit(), &entry);
  EXPECT_THAT(edits.nodes, ElementsAre(Pair("/dev/filter/0", ""), Pair("/dev/uio4", "243:4")));
}

TEST_F(ManagerTest, HasNothingForAContainerWithoutABitstream) {
  RecordedEdits edits;
  EXPECT_THAT(error_of(CAGE_INVALID_ARGUMENT, [&] { fpga()->add_to(edits.edit(), nullptr); }),
              HasSubstr("has no nodes of its own; name a bitstream in the claim"));
}

TEST_F(ManagerTest, WaitsForTheNodesOfTheBitstream) {
  take_files();
  Entry entry = raw();
  entry.nodes = {"/dev/uio4"};
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { fpga()->program(host.call(), entry); }),
              HasSubstr("the node /dev/uio4 that its manifest names has not appeared"));
  write("dev/uio4", "");
  fpga()->program(host.call(), entry);
}

TEST(ManagerNames, NameOfAManager) {
  EXPECT_EQ(name_of_manager("firmware:zynqmp-firmware:pcap"), "fpga-pcap");
  EXPECT_EQ(name_of_manager("f8007000.devcfg"), "fpga-devcfg");
  EXPECT_EQ(name_of_manager("spi0.0"), "fpga-spi0-0");
  EXPECT_EQ(name_of_manager("soc:Versal_FPGA"), "fpga-versal-fpga");
  EXPECT_EQ(name_of_manager("pcap_"), "fpga-pcap");
  EXPECT_EQ(name_of_manager(std::string(100, 'a')), "fpga-" + std::string(58, 'a'));
}

TEST(ManagerNames, BoardOfAModel) {
  EXPECT_EQ(board_of("ZynqMP SMK-K26 Rev1/B/A"), "SMK-K26");
  EXPECT_EQ(board_of("Xilinx KV260 Starter Kit"), "KV260");
  EXPECT_EQ(board_of("Xilinx Versal vck190 Eval board revA"), "vck190");
  EXPECT_EQ(board_of("Terasic DE10-Nano"), "DE10-Nano");
  EXPECT_EQ(board_of("Avnet ZedBoard Rev2"), "Avnet ZedBoard Rev2");
  EXPECT_EQ(board_of("Altera SOCFPGA Arria 10"), "Altera SOCFPGA Arria 10");
  EXPECT_EQ(board_of(""), "");
  EXPECT_EQ(board_of(std::string(100, 'x')), std::string(64, 'x'));
}

TEST(KernelFirmware, LooksInTheKernelsOrder) {
  const ScratchFolder folder;
  const std::vector<fs::path> usual = firmware_folders(folder.path());
  EXPECT_EQ(usual.back(), "/lib/firmware");
  EXPECT_EQ(usual.size(), 4u);
  fs::create_directories(folder / "module/firmware_class/parameters");
  std::ofstream(folder / "module/firmware_class/parameters/path") << "/srv/fpga\n";
  EXPECT_EQ(firmware_folders(folder.path()).front(), "/srv/fpga");
}

TEST(KernelFirmware, NameOfAFile) {
  const ScratchFolder folder;
  const std::vector<fs::path> folders{folder / "updates", folder.path()};
  const auto name_of = [&](const std::string& file) { return firmware_name(folder / file, folders); };
  fs::create_directories(folder / "updates/fpga");
  fs::create_directories(folder / "fpga");
  std::ofstream(folder / "fpga/a.bin") << "a";
  EXPECT_EQ(name_of("fpga/a.bin"), "fpga/a.bin");
  std::ofstream(folder / "updates/fpga/b.bin") << "b";
  EXPECT_EQ(name_of("updates/fpga/b.bin"), "fpga/b.bin");
  std::ofstream(folder / "updates/fpga/a.bin") << "newer";
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { name_of("fpga/a.bin"); }),
              HasSubstr("the kernel would load " + (folder / "updates/fpga/a.bin").native()));
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { firmware_name("/srv/a.bin", folders); }),
              HasSubstr("add firmware_class.path=/srv"));
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { name_of("fpga/" + std::string(250, 'n')); }),
              HasSubstr("too long"));
}

// Distributions have a link from /lib to /usr/lib.
TEST(KernelFirmware, FollowsLinks) {
  const ScratchFolder folder;
  fs::create_directories(folder / "usr/lib/firmware/fpga");
  fs::create_directory_symlink("usr/lib", folder / "lib");
  std::ofstream(folder / "usr/lib/firmware/fpga/a.bin") << "a";
  const std::vector<fs::path> folders{folder / "lib/firmware"};
  EXPECT_EQ(firmware_name(folder / "usr/lib/firmware/fpga/a.bin", folders), "fpga/a.bin");
  EXPECT_EQ(firmware_name(folder / "lib/firmware/fpga/a.bin", folders), "fpga/a.bin");
}

}  // namespace
}  // namespace cardcage::fpga
