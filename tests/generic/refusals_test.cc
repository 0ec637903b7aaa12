// Tests what the module does not offer, and the texts that say why.
#include "tests/generic/generic_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class GenericRefusals : public GenericFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, GenericRefusals, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(GenericRefusals, AMistakeInAnEntryNamesTheEntryAndTheRemedy) {
  const std::pair<std::string, std::string> mistakes[] = {
      {"paths=/dev/fuse\n", "devices[0]: name: '' is not 1 to 40 lower-case letters, digits and '-'; write one like"},
      {"name=Fuse\npaths=/dev/fuse\n", "devices[0]: name: 'Fuse' is not"},
      {"/dev/fuse", "devices[0]: it is text; write a table: [[module.options.devices]]"},
      {"name=a\n", "devices[0] 'a': paths: it is missing"},
      {"name=a\npaths=/etc/*\n", "devices[0] 'a': paths: '/etc/*' is not a path below /dev"},
      {"name=a\npaths=/dev/../etc/passwd\n", "'/dev/../etc/passwd' is not a path below /dev"},
      {"name=a\npaths=/dev/\n", "'/dev/' is not a path below /dev"},
      {"name=a\npaths=ttyUSB*\n", "'ttyUSB*' is not a path below /dev"},
      {"count=0\nname=a\npaths=/dev/a\n", "devices[0] 'a': count: it is 0, expected 1 to 1000"},
      {"count=many\nname=a\npaths=/dev/a\n", "count: it is many, expected 1 to 1000"},
      {"name=a\npaths=/dev/a\npermissions=rx\n", "permissions: 'rx' is not made of the letters r, w and m"},
      {"mode=999\nname=a\npaths=/dev/a\n", "mode: '999' is not the mode of a file"},
      {"env=1A=b\nname=a\npaths=/dev/a\n", "env: '1A' is not the name of a variable"},
      {"name=a\npaths=/dev/a\nusb=403:6001\n", "usb: '403' is not four hexadecimal digits"},
      {"name=a\npaths=/dev/a\nusb=0403\n", "usb: '' is not four hexadecimal digits"},
      {"name=a\npaths=/dev/a\nproperties=ID_MODEL\n", "properties: 'ID_MODEL' is not NAME=PATTERN"},
      {"name=a\npaths=/dev/a\ntogether=yes\n", "together: 'yes' is neither true nor false"},
      {"mount_path=dev/a\nname=a\npaths=/dev/a\n", "mount_path: 'dev/a' is not an absolute path"},
      {"mount_path=/dev/m\nname=a\npaths=/dev/a*\ntogether=true\n", "a device of several nodes needs a folder"},
      {"name=a\nname=b\npaths=/dev/a\n", "name: it is a list; write one value"},
      {"name=a\npath=/dev/a\npaths=/dev/a\n", "devices[0] 'a': path: there is no such key; the keys are name, paths,"},
  };
  for (const auto& [table, text] : mistakes) {
    const Status started = start({table});
    ASSERT_FALSE(started) << table;
    EXPECT_EQ(started.error().code, Code::kInvalidArgument);
    EXPECT_THAT(started.error().message, HasSubstr(text));
    let_go();
  }
  const Status twice = start({"name=a\npaths=/dev/a\n", "name=a\npaths=/dev/b\n"});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("two entries have the name 'a'"));
}

TEST_P(GenericRefusals, APatternWithoutAMatchIsAStatusAndNoFailure) {
  ASSERT_TRUE(start({"name=serial\npaths=/dev/ttyUSB*\npaths=/dev/serial/by-id/*\n"}));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_THAT(not_offered(), ElementsAre(Pair("serial",
                                              "nothing matches /dev/ttyUSB*, /dev/serial/by-id/*; its devices "
                                              "appear with the first file that does")));
}

TEST_P(GenericRefusals, BlockDevicesNeedAWord) {
  node("sda", 8, 0, S_IFBLK);
  ASSERT_TRUE(start({"name=disk\npaths=/dev/sd*\n"}));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(not_offered().at("/dev/sda"),
            "it is a block device; if containers may have the disk, write block = true in the entry 'disk'");
  ASSERT_TRUE(configure({"block=true\nname=disk\npaths=/dev/sd*\n"}));
  ASSERT_THAT(names(), ElementsAre("disk-sda"));
  ModuleClaim wanted = claim_of("1", {"disk-sda"}, "", "");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(nodes_of(prepared->allocations.at(0)), ElementsAre("b 8:0 /dev/sda"));
}

TEST_P(GenericRefusals, NodesThatControlTheNodeNeedAWord) {
  node("mem", 1, 1);
  node("tty1", 4, 1);
  node("sg0", 21, 0);
  node("harmless-name", 10, 223);
  node("nvme0", 240, 0);
  known("240:0", "sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0", "nvme");
  ASSERT_TRUE(start({"name=all\npaths=/dev/*\n"}));
  EXPECT_THAT(names(), IsEmpty());
  const auto refused = not_offered();
  EXPECT_EQ(refused.at("/dev/mem"),
            "it is the memory of the node; narrow the paths of the entry 'all', or write unsafe = true there");
  EXPECT_THAT(refused.at("/dev/tty1"), HasSubstr("it is a console of the node;"));
  EXPECT_THAT(refused.at("/dev/sg0"), HasSubstr("it sends any command to a disk;"));
  EXPECT_THAT(refused.at("/dev/harmless-name"), HasSubstr("it makes up keys and pointers of the node (uinput);"));
  EXPECT_THAT(refused.at("/dev/nvme0"), HasSubstr("it sends any command to a disk;"));
  ASSERT_TRUE(configure({"name=nvme\npaths=/dev/nvme0\nunsafe=true\n"}));
  EXPECT_THAT(names(), ElementsAre("nvme"));
}

TEST_P(GenericRefusals, LinksMustStayBelowDev) {
  tree.file("etc/secret", "");
  link("away", "../etc/secret");
  link("absolute", "/etc/passwd");
  link("dangling", "nothing");
  link("loop", "loop");
  std::filesystem::create_directory_symlink(tree.root() / "etc", tree.devfs() / "folder");
  ASSERT_TRUE(
      start({"name=one\npaths=/dev/a*\npaths=/dev/dangling\npaths=/dev/loop\n", "name=two\npaths=/dev/folder/*\n"}));
  EXPECT_THAT(names(), IsEmpty());
  const auto refused = not_offered();
  EXPECT_THAT(refused.at("/dev/away"), HasSubstr("etc/secret', which is outside of /dev"));
  EXPECT_EQ(refused.at("/dev/absolute"), "it links to '/etc/passwd', which is outside of /dev");
  EXPECT_EQ(refused.at("/dev/dangling"), "it links to a file that does not exist");
  EXPECT_EQ(refused.at("/dev/loop"), "it is a link to too many other links");
  EXPECT_THAT(refused.at("/dev/folder/secret"), HasSubstr("which is outside of /dev"));
}

TEST_P(GenericRefusals, ALinkOfTheNodeThatStartsWithDevIsFollowedHere) {
  node("ttyUSB0", 188, 0);
  link("modem", "/dev/ttyUSB0");
  ASSERT_TRUE(start({"name=modem\npaths=/dev/modem\n"}));
  EXPECT_THAT(attributes_of(device("modem")),
              ::testing::IsSupersetOf<std::string>({"path=/dev/ttyUSB0", "link=modem"}));
}

TEST_P(GenericRefusals, ANodeOfTwoEntriesIsOfNeither) {
  node("ttyUSB0", 188, 0);
  node("ttyUSB1", 188, 1);
  link("modem", "ttyUSB0");
  ASSERT_TRUE(start({"name=serial\npaths=/dev/ttyUSB*\n", "name=modem\npaths=/dev/modem\n"}));
  EXPECT_THAT(names(), ElementsAre("serial-ttyusb1"));
  EXPECT_THAT(not_offered(), ElementsAre(Pair("/dev/ttyUSB0",
                                              "the entries 'modem' and 'serial' all match it; change "
                                              "their paths so that one does")));
}

TEST_P(GenericRefusals, APartThatIsRefusedTakesTheOthersWithIt) {
  node("snd/controlC0", 116, 2);
  node("mem", 1, 1);
  ASSERT_TRUE(start({"name=sound\npaths=/dev/snd/*\npaths=/dev/mem\ntogether=true\n"}));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(not_offered().at("sound"), "a part of it may not be offered; the reasons are beside this one");
}

TEST_P(GenericRefusals, AFolderIsNoDevice) {
  node("snd/controlC0", 116, 2);
  ASSERT_TRUE(start({"name=sound\npaths=/dev/snd\n"}));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(not_offered().at("/dev/snd"),
            "it is not a device node; name nodes, or write '/dev/snd/*' for those in a folder");
}

TEST_P(GenericRefusals, MatchesAreBounded) {
  for (unsigned i = 0; i < 1'100; ++i) node("many" + std::to_string(i), 200, i);
  ASSERT_TRUE(start({"name=many\npaths=/dev/many*\n", "name=more\npaths=/dev/many*\n"}));
  const SnapshotPtr found = discover();
  EXPECT_THAT(found->devices, SizeIs(1000));
  EXPECT_EQ(found->not_offered.at("many"), "the entries match more than 1000 files; write narrower paths");
}

}  // namespace
}  // namespace cardcage
