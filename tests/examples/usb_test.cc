// Tests the example module usb on described cameras and serial ports.
#include "tests/examples/example_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class UsbExample : public ExampleFixture {
 protected:
  Status start() { return start_module(config("libcardcage_usb.so", {{"udev", (tree.root() / "run/udev").native()}})); }
  // Adds a device as the kernel shows it, without udev.
  void kernel(const std::string& name, const std::string& device_class, unsigned major_number, unsigned minor_number) {
    tree.file("sys/class/" + device_class + "/" + name + "/dev", fmt::format("{}:{}\n", major_number, minor_number));
    node(name, major_number, minor_number);
  }
  // Describes it as udev does: written beside, and renamed.
  void udev(const std::string& numbers, const std::string& properties) {
    tree.file("run/udev/new", "I:1234\n" + properties + "G:systemd\n");
    std::filesystem::rename(tree.root() / "run/udev/new", tree.root() / "run/udev/data" / ("c" + numbers));
  }
  void camera() {
    const std::string usb =
        "E:ID_BUS=usb\nE:ID_VENDOR_ID=046d\nE:ID_MODEL_ID=082d\nE:ID_SERIAL_SHORT=9F2C 6ADF\n"
        "E:ID_USB_INTERFACE_NUM=00\nE:ID_V4L_PRODUCT=HD Pro Webcam C920\nE:ID_PATH=pci-0000:00:14.0-usb-0:2:1.0\n";
    kernel("video0", "video4linux", 81, 0);
    kernel("video1", "video4linux", 81, 1);
    udev("81:0", usb + "E:ID_V4L_CAPABILITIES=:capture:\n");
    udev("81:1", usb + "E:ID_V4L_CAPABILITIES=:\n");
  }
  static std::string serial_port(const std::string& serial) {
    return "E:ID_BUS=usb\nE:ID_VENDOR_ID=0403\nE:ID_MODEL_ID=6001\nE:ID_USB_INTERFACE_NUM=00\n"
           "E:ID_PATH_TAG=pci-0000_00_14_0-usb-0_3_1_0\n" +
           (serial.empty() ? "" : "E:ID_SERIAL_SHORT=" + serial + "\n");
  }
  [[nodiscard]] bool asks_for_discovery() {
    const int before = rescans;
    return eventually([&] {
      let_news_pass();
      settle();
      for (const std::int32_t descriptor : std::exchange(timers, {})) {
        EventsCall told{
            {.events = {{.type = EventType::kDescriptor, .time = {}, .text = {}, .descriptor = descriptor}}}};
        if (!run(module->call(std::move(told), soon()))) return false;
      }
      return rescans > before;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, UsbExample, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(UsbExample, ACameraIsItsNodeThatCaptures) {
  camera();
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("camera-046d-082d-9f2c-6adf-00"));
  const Device found = device("camera-046d-082d-9f2c-6adf-00");
  EXPECT_EQ(found.kind, "camera");
  EXPECT_THAT(attributes_of(found), IsSupersetOf<std::string>({"path=/dev/video0", "product=HD Pro Webcam C920",
                                                               "vendorId=046d", "productId=082d"}));
  EXPECT_EQ(health(found.name), "ok");
  ModuleClaim wanted = claim_of("1", {found.name}, "", "");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(nodes_of(prepared->allocations.at(0)), ElementsAre("c 81:0 /dev/video0"));
  EXPECT_THAT(prepared->allocations.at(0).env_lists, ElementsAre(EnvVar{"USB_CAMERA", "/dev/video0"}));
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(UsbExample, SerialPortsKeepTheirNames) {
  kernel("ttyUSB0", "tty", 188, 0);
  kernel("ttyUSB1", "tty", 188, 1);
  kernel("ttyUSB2", "tty", 188, 2);
  kernel("ttyS0", "tty", 4, 64);
  udev("188:0", serial_port("A5XK3RJT"));
  udev("188:1", serial_port(""));
  udev("188:2", serial_port(""));
  udev("4:64", "E:ID_PATH=platform-serial8250\n");
  ASSERT_TRUE(start());
  EXPECT_THAT(names(), ElementsAre("serial-0403-6001-a5xk3rjt-00", "serial-0403-6001-pci-0000-00-14-0-usb-0-3-1-0-00",
                                   "serial-0403-6001-pci-0000-00-14-0-usb-0-3-1-0-00-1"));
}

TEST_P(UsbExample, ADeviceAppearsWhenUdevHasDescribedIt) {
  ASSERT_TRUE(start());
  kernel("ttyACM0", "tty", 166, 0);
  EXPECT_THAT(names(), IsEmpty());
  udev("166:0", serial_port("1"));
  ASSERT_TRUE(asks_for_discovery());
  EXPECT_THAT(names(), ElementsAre("serial-0403-6001-1-00"));
  std::filesystem::remove(tree.root() / "run/udev/data/c166:0");
  ASSERT_TRUE(asks_for_discovery());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(UsbExample, ANodeThatIsGoneIsUnhealthyAndNotPrepared) {
  camera();
  ASSERT_TRUE(start());
  ModuleClaim wanted = claim_of("1", {"camera-046d-082d-9f2c-6adf-00"}, "", "");
  std::filesystem::remove(tree.devfs() / "video0");
  EXPECT_EQ(health("camera-046d-082d-9f2c-6adf-00"), "NoNode: /dev/video0 is gone");
  const auto prepared = prepare(wanted);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("/dev/video0 is gone; plug the device in again"));
}

}  // namespace
}  // namespace cardcage
