#include <gtest/gtest.h>

#include "tests/fakes/uevent_namespace.h"

namespace cardcage {
namespace {

TEST(FakeUevents, ArriveAsTheKernelsOwn) {
  const UeventNamespace events;
  if (!events.works()) GTEST_SKIP() << "no network namespace can be made here";
  const UniqueFd listener(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl group{};
  group.nl_family = AF_NETLINK;
  group.nl_groups = 1;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&group), sizeof group), 0);
  ASSERT_EQ(events.send("add", "/devices/pci0000:3a/0000:3b:00.0", "pci", {"PCI_SLOT_NAME=0000:3b:00.0"}), 0);
  std::string text(4096, '\0');
  sockaddr_nl sender{};
  socklen_t length = sizeof sender;
  const ssize_t size =
      ::recvfrom(listener.get(), text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&sender), &length);
  ASSERT_GT(size, 0);
  EXPECT_EQ(sender.nl_pid, 0u) << "the kernel";
  text.resize(static_cast<std::size_t>(size));
  EXPECT_EQ(std::string(text.c_str()), "add@/devices/pci0000:3a/0000:3b:00.0");
  EXPECT_NE(text.find("PCI_SLOT_NAME=0000:3b:00.0"), std::string::npos);
  EXPECT_NE(text.find("SEQNUM="), std::string::npos);
}

}  // namespace
}  // namespace cardcage
