// Tests the module's requests to the kernel, in a network namespace of the test's own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <thread>

#include "modules/nic/link_watch.h"
#include "modules/nic/netlink/links.h"
#include "modules/nic/netlink/routes.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/network_namespace.h"

namespace cardcage::nic {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class NicNetlink : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
    ASSERT_TRUE(node.ip("link add one type veth peer name two"));
    ASSERT_TRUE(node.ip("link add three type veth peer name four"));
    for (const std::string name : {"lo", "one", "two", "three", "four"})
      ASSERT_TRUE(node.ip("link set " + name + " up"));
    // The kernel reports carriers with a delay, at most once a second.
    ASSERT_TRUE(eventually([this] { return node.ip("-oneline link show | grep -c 'state UP' | grep -qx 4"); }));
    ASSERT_TRUE(node.ip("address add 192.0.2.1/24 dev one"));
    ASSERT_TRUE(node.ip("address add 198.51.100.1/24 dev three"));
  }

  NetworkNamespace node;
};

TEST_F(NicNetlink, AnInterfaceWithAnAddressHasNoDefaultRoute) {
  EXPECT_THAT(interfaces_with_default_routes(), IsEmpty());
}

TEST_F(NicNetlink, FindsDefaultRoutesInEveryTable) {
  ASSERT_TRUE(node.ip("route add default via 192.0.2.2 dev one table 77"));
  ASSERT_TRUE(node.ip("route add unreachable default metric 9999"));
  EXPECT_THAT(interfaces_with_default_routes(), UnorderedElementsAre("one"));
}

TEST_F(NicNetlink, FindsEachHopOfADefaultRoute) {
  ASSERT_TRUE(node.ip("route add default nexthop via 192.0.2.2 dev one nexthop via 198.51.100.2 dev three"));
  EXPECT_THAT(interfaces_with_default_routes(), UnorderedElementsAre("one", "three"));
}

TEST_F(NicNetlink, FindsDefaultRoutesOfIpv6) {
  ASSERT_TRUE(node.ip("-6 route add default dev four"));
  EXPECT_THAT(interfaces_with_default_routes(), UnorderedElementsAre("four"));
}

TEST_F(NicNetlink, ReadsMoreRoutesThanOneMessageHolds) {
  std::string batch;
  for (int i = 0; i < 2000; ++i)
    batch += "route add 10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".0/24 dev one\n";
  batch += "route add default via 198.51.100.2 dev three\n";
  ASSERT_TRUE(node.ip("-batch - <<'END'\n" + batch + "END\n"));
  EXPECT_THAT(interfaces_with_default_routes(), UnorderedElementsAre("three"));
}

// If a list changes while it is read, the kernel reports that before it has sent the whole list.
TEST_F(NicNetlink, ReadsEachInterfaceOnceWhileOthersComeAndGo) {
  std::string batch;
  for (int i = 0; i < 100; ++i) batch += fmt::format("link add a{} type veth peer name b{}\n", i, i);
  ASSERT_TRUE(node.ip("-batch - <<'END'\n" + batch + "END\n"));
  std::atomic<bool> stops = false;
  std::thread changes([&] {
    while (!stops)
      if (!node.ip("link add five type veth peer name six && ip link delete five")) return;
  });
  NetlinkSocket socket;
  for (int i = 0; i < 500 && !HasFailure(); ++i) try {
      std::set<std::uint32_t> indexes;
      const std::vector<Link> links = read_links(socket);
      for (const Link& link : links) indexes.insert(link.index);
      EXPECT_EQ(indexes.size(), links.size());
      EXPECT_GE(links.size(), 205U) << "lo and those of the test";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code().value(), EINTR) << "each time";
    }
  stops = true;
  changes.join();
}

// A host that polls the requested descriptor.
class PollingHost {
 public:
  PollingHost() {
    raw_.struct_size = sizeof raw_;
    raw_.host_data = this;
    raw_.extension = [](const cage_host* host, const char* id) -> const void* {
      return std::string_view(id) == CAGE_HOST_POLL ? &of(host).poll_ : nullptr;
    };
    poll_.struct_size = sizeof poll_;
    poll_.add = [](const cage_host* host, std::int32_t added) {
      of(host).descriptor = added;
      return cage_status{CAGE_OK};
    };
    poll_.remove = [](const cage_host* host, std::int32_t) {
      of(host).descriptor = -1;
      return cage_status{CAGE_OK};
    };
  }
  PollingHost(const PollingHost&) = delete;
  PollingHost& operator=(const PollingHost&) = delete;

  cage::Host host() const { return cage::Host(&raw_); }
  cage::Event ready() const { return {cage::Event::Type::descriptor, {}, {}, descriptor}; }
  int descriptor = -1;

 private:
  static PollingHost& of(const cage_host* host) { return *static_cast<PollingHost*>(host->host_data); }
  cage_host raw_{};
  cage_poll poll_{};
};

TEST_F(NicNetlink, AChangeOfAnOfferedInterfaceIsHeard) {
  PollingHost host;
  LinkWatch watch(host.host(), {"one"});
  watch.start();
  ASSERT_GE(host.descriptor, 0);
  EXPECT_FALSE(watch.take(host.ready())) << "nothing has happened";
  ASSERT_TRUE(node.ip("link set one mtu 1400"));
  EXPECT_TRUE(watch.take(host.ready()));
  EXPECT_FALSE(watch.take(host.ready())) << "it was told once";
  ASSERT_TRUE(node.ip("link set two down"));  // the carrier of its peer is gone, too
  EXPECT_TRUE(eventually([&] { return watch.take(host.ready()); }));
  watch.stop();
  EXPECT_EQ(host.descriptor, -1);
}

TEST_F(NicNetlink, InterfacesOfPodsComeAndGoUnheard) {
  PollingHost host;
  LinkWatch watch(host.host(), {"one"});
  watch.start();
  ASSERT_TRUE(node.ip("link add five type veth peer name six"));
  ASSERT_TRUE(node.ip("link delete five"));
  EXPECT_FALSE(watch.take(host.ready()));
}

// A message of the kernel's format to the socket of a watch.
class LinkMessage {
 public:
  LinkMessage(const std::string& name, unsigned char family, const char* kind) {
    message_->nlmsg_type = RTM_NEWLINK;
    auto& header = *static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(message_, sizeof(ifinfomsg)));
    header.ifi_family = family;
    header.ifi_type = ARPHRD_ETHER;
    header.ifi_index = 7;
    mnl_attr_put_strz(message_, IFLA_IFNAME, name.c_str());
    if (kind == nullptr) return;
    nlattr* const info = mnl_attr_nest_start(message_, IFLA_LINKINFO);
    mnl_attr_put_strz(message_, IFLA_INFO_KIND, kind);
    mnl_attr_nest_end(message_, info);
  }
  LinkMessage(const LinkMessage&) = delete;
  void send_to(int descriptor) const {
    sockaddr_nl address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
    address.nl_groups = 0;
    const NetlinkSocket sender;
    ASSERT_GT(::sendto(sender.descriptor(), message_, message_->nlmsg_len, 0, reinterpret_cast<sockaddr*>(&address),
                       sizeof address),
              0)
        << std::strerror(errno);
  }

 private:
  alignas(nlmsghdr) std::array<char, 1024> buffer_{};
  nlmsghdr* const message_ = mnl_nlmsg_put_header(buffer_.data());
};

// Linux before 5.14 does not tell the parent of an interface.
TEST_F(NicNetlink, AnInterfaceWithHardwareIsHeardOnOldKernels) {
  PollingHost host;
  LinkWatch watch(host.host(), {});
  watch.start();
  LinkMessage("eth7", AF_UNSPEC, nullptr).send_to(host.descriptor);
  EXPECT_TRUE(watch.take(host.ready()));
  LinkMessage("ib7", AF_UNSPEC, "ipoib").send_to(host.descriptor);
  EXPECT_TRUE(watch.take(host.ready()));
  LinkMessage("veth7", AF_UNSPEC, "veth").send_to(host.descriptor);
  LinkMessage("veth7", AF_BRIDGE, nullptr).send_to(host.descriptor);
  EXPECT_FALSE(watch.take(host.ready()));
}

TEST_F(NicNetlink, AFloodThatTheKernelCutsShortCountsAsAChange) {
  PollingHost host;
  LinkWatch watch(host.host(), {});
  watch.start();
  std::string batch;
  for (int i = 0; i < 2000; ++i) batch += std::string("link set three ") + (i % 2 == 0 ? "down" : "up") + "\n";
  ASSERT_TRUE(node.ip("-batch - <<'END'\n" + batch + "END\n"));
  EXPECT_TRUE(watch.take(host.ready()));
}

}  // namespace
}  // namespace cardcage::nic
