// Tests the devices that the entries make of device nodes, and their attributes.
#include "tests/generic/generic_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

class GenericDiscovery : public GenericFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, GenericDiscovery, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(GenericDiscovery, ANodeIsADeviceThatManyPodsShare) {
  node("fuse", 10, 229);
  ASSERT_TRUE(start({"count=100\nname=fuse\npaths=/dev/fuse\n"}));
  ASSERT_THAT(names(), ElementsAre("fuse"));
  const Device fuse = device("fuse");
  EXPECT_EQ(fuse.id, "fuse");
  EXPECT_EQ(fuse.kind, "fuse");
  EXPECT_TRUE(fuse.shared);
  EXPECT_THAT(amounts_of(fuse.capacity), ElementsAre("pods=100"));
  EXPECT_EQ(fuse.policies.at("pods").default_amount->to_string(), "1");
  EXPECT_EQ(fuse.policies.at("pods").values.size(), 1U);
  EXPECT_THAT(attributes_of(fuse), IsSupersetOf<std::string>({"kind=fuse", "path=/dev/fuse", "major=10", "minor=229"}));
  EXPECT_EQ(health("fuse"), "ok");
}

TEST_P(GenericDiscovery, EachNodeThatAPatternMatchesIsADevice) {
  node("video0", 81, 0);
  node("video12", 81, 12);
  node("snd/pcmC0D0c", 116, 3);
  ASSERT_TRUE(start({"name=camera\npaths=/dev/video[0-9]*\n", "name=sound\npaths=/dev/snd/*\n"}));
  EXPECT_THAT(names(), ElementsAre("camera-video0", "camera-video12", "sound-snd-pcmc0d0c"));
  EXPECT_EQ(device("sound-snd-pcmc0d0c").id, "sound-snd/pcmC0D0c");
  EXPECT_FALSE(device("camera-video0").shared);
}

TEST_P(GenericDiscovery, AUsbDeviceKeepsItsIdentityAtAnotherNode) {
  node("ttyUSB0", 188, 0);
  usb_serial("188:0", "ttyUSB0", "A5XK 3RJT");
  const List serial = {"name=serial\npaths=/dev/ttyUSB*\n"};
  ASSERT_TRUE(start(serial));
  ASSERT_THAT(names(), ElementsAre("serial-0403-6001-a5xk-3rjt-if00"));
  const Device before = device("serial-0403-6001-a5xk-3rjt-if00");
  EXPECT_EQ(before.id, "serial-0403-6001-A5XK_3RJT-if00");
  EXPECT_THAT(before.numa_nodes, ElementsAre(1));
  EXPECT_THAT(attributes_of(before),
              IsSupersetOf<std::string>({"usbVendor=0403", "usbProduct=6001", "usbSerial=A5XK 3RJT", "usbPort=1-2",
                                         "usbInterface=00", "model=FT232R USB UART", "driver=ftdi_sio", "subsystem=tty",
                                         "path=/dev/ttyUSB0"}));
  unplug("ttyUSB0");
  node("ttyUSB3", 188, 3);
  usb_serial("188:3", "ttyUSB3", "A5XK 3RJT");
  const Device after = device("serial-0403-6001-a5xk-3rjt-if00");
  EXPECT_EQ(after.id, before.id);
  EXPECT_THAT(attributes_of(after), Contains("path=/dev/ttyUSB3"));
}

TEST_P(GenericDiscovery, UsbDevicesWithoutASerialNumberAreKnownByTheirPorts) {
  node("ttyUSB0", 188, 0);
  node("ttyUSB1", 188, 1);
  usb_serial("188:0", "ttyUSB0", "", "1-1.4");
  usb_serial("188:1", "ttyUSB1", "", "1-2");
  ASSERT_TRUE(start({"name=serial\npaths=/dev/ttyUSB*\n"}));
  EXPECT_THAT(names(), ElementsAre("serial-0403-6001-1-1-4-if00", "serial-0403-6001-1-2-if00"));
}

TEST_P(GenericDiscovery, ClonesWithOneSerialNumberAreTwoDevices) {
  node("ttyUSB0", 188, 0);
  node("ttyUSB1", 188, 1);
  usb_serial("188:0", "ttyUSB0", "0001", "1-1");
  usb_serial("188:1", "ttyUSB1", "0001", "1-2");
  ASSERT_TRUE(start({"name=serial\npaths=/dev/ttyUSB*\n"}));
  EXPECT_THAT(names(), ElementsAre("serial-0403-6001-0001-if00", "serial-0403-6001-0001-if00-1"));
}

TEST_P(GenericDiscovery, SelectorsChooseAmongTheNodes) {
  node("ttyUSB0", 188, 0);
  node("ttyUSB1", 188, 1);
  node("ttyACM0", 166, 0);
  usb_serial("188:0", "ttyUSB0", "A5", "1-1");
  usb_serial("188:1", "ttyUSB1", "B7", "1-2");
  tree.file("run/udev/data/c188:1", "I:1234\nE:ID_MODEL=FT232R\nE:ID_BUS=usb\nG:systemd\n");
  const auto chosen = [&](const std::string& selector) {
    const std::string table = "name=s\npaths=/dev/ttyUSB*\npaths=/dev/ttyACM*\n" + selector;
    EXPECT_TRUE(configure({table}));
    List paths;
    for (const Device& one : discover()->devices) paths.push_back(std::get<std::string>(one.attributes.at("path")));
    return paths;
  };
  ASSERT_TRUE(start({}));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(chosen("").size(), 3U);
  EXPECT_THAT(chosen("usb=0403:6001\n"), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_THAT(chosen("usb=0403:*\nserial=B*\n"), ElementsAre("/dev/ttyUSB1"));
  EXPECT_THAT(chosen("usb=*:*\n"), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_THAT(chosen("subsystem=tty\n"), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_THAT(chosen("properties=ID_BUS=usb\nproperties=ID_MODEL=FT*\n"), ElementsAre("/dev/ttyUSB1"));
  EXPECT_THAT(chosen("usb=1a86:7523\n"), IsEmpty());
  EXPECT_EQ(not_offered().at("s"), "3 files match its paths, but none may be offered or fits its selectors");
}

TEST_P(GenericDiscovery, LinksLeadToNodesAndCountOnce) {
  node("ttyUSB0", 188, 0);
  link("serial/by-id/usb-FTDI_A5-if00-port0", "../../ttyUSB0");
  ASSERT_TRUE(start({"name=modem\npaths=/dev/serial/by-id/*\npaths=/dev/ttyUSB*\n"}));
  ASSERT_EQ(discover()->devices.size(), 1U);
  const Device modem = discover()->devices.front();
  EXPECT_THAT(attributes_of(modem), IsSupersetOf<std::string>({"path=/dev/ttyUSB0", "link=usb-FTDI_A5-if00-port0"}));
}

TEST_P(GenericDiscovery, NodesTogetherAreOneDevice) {
  node("snd/pcmC0D0c", 116, 3);
  node("snd/controlC0", 116, 2);
  const List capture = {"name=capture\npaths=/dev/snd/pcmC0D0c\npaths=/dev/snd/controlC*\ntogether=true\n"};
  ASSERT_TRUE(start(capture));
  ASSERT_THAT(names(), ElementsAre("capture"));
  EXPECT_THAT(attributes_of(device("capture")), IsSupersetOf<std::string>({"nodes=2", "path=/dev/snd/pcmC0D0c"}));
  unplug("snd/controlC0");
  EXPECT_THAT(names(), IsEmpty()) << "a part of it is missing";
  EXPECT_THAT(not_offered().at("capture"), HasSubstr("nothing matches /dev/snd/controlC*;"));
}

TEST_P(GenericDiscovery, FoldersAndSocketsBelowAPatternAreNoNews) {
  node("snd/controlC0", 116, 2);
  std::filesystem::create_directories(tree.devfs() / "snd/by-path");
  ASSERT_TRUE(start({"name=sound\npaths=/dev/snd/*\n"}));
  EXPECT_THAT(names(), ElementsAre("sound-snd-controlc0"));
  EXPECT_THAT(not_offered(), IsEmpty());
}

}  // namespace
}  // namespace cardcage
