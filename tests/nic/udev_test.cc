// Tests the NIC module beside udev, with the database files that systemd-udevd 252 of Debian 12 wrote for a virtual
// function of an emulated igb.
#include "modules/nic/udev.h"

#include <fstream>
#include <thread>

#include "tests/common/recording_host.h"
#include "tests/fakes/network_namespace.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

const std::string kProperties = R"(E:ID_NET_NAMING_SCHEME=v252
E:ID_NET_NAME_PATH=enp1s0v0
E:ID_NET_NAME_SLOT=ens1v0
E:ID_BUS=pci
E:ID_VENDOR_ID=0x8086
E:ID_MODEL_ID=0x10ca
E:ID_PATH=pci-0000:01:10.0
E:ID_PATH_TAG=pci-0000_01_10_0
E:ID_NET_DRIVER=igbvf
E:ID_NET_LINK_FILE=/lib/systemd/network/99-default.link
E:ID_NET_NAME=ens1v0
)";
const std::string kInitialized = "I:15265924\n", kRenaming = "E:ID_RENAMING=1\n", kEnd = "V:1\n";

// The folder /run/udev of a node.
class UdevFolder {
 public:
  explicit UdevFolder(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_ / "data");
    std::ofstream(path_ / "control");
  }
  // udev replaces a file as a whole.
  void write(unsigned index, const std::string& text) const {
    std::ofstream(path_ / "new") << text;
    std::filesystem::rename(path_ / "new", path_ / "data" / ("n" + std::to_string(index)));
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

TEST(NicUdev, AnInterfaceIsNamedOnceUdevHasSeenItsNewName) {
  const NicTree tree;
  const UdevFolder folder(tree.root() / "run/udev");
  const RecordingHost host;
  const nic::Udev udev(host.host(), folder.path());
  EXPECT_FALSE(udev.has_named(7)) << "udev has not heard of it";
  folder.write(7, kProperties + kRenaming + kEnd);
  EXPECT_FALSE(udev.has_named(7)) << "udev is about to rename it";
  folder.write(7, kInitialized + kProperties + kRenaming + kEnd);
  EXPECT_FALSE(udev.has_named(7)) << "udev has renamed it, and still adds alternative names";
  folder.write(7, kInitialized + kProperties + kEnd);
  EXPECT_TRUE(udev.has_named(7));
  EXPECT_FALSE(udev.has_named(70));
}

TEST(NicUdev, NothingIsWaitedForWithoutUdev) {
  const NicTree tree;
  const RecordingHost host;
  EXPECT_TRUE(nic::Udev(host.host(), tree.root() / "run/udev").has_named(7));
  EXPECT_TRUE(nic::Udev(host.host(), {}).has_named(7));
}

TEST(NicUdev, ItIsWaitedForWithinALimit) {
  const NicTree tree;
  const UdevFolder folder(tree.root() / "run/udev");
  const RecordingHost host;
  const nic::Udev udev(host.host(), folder.path(), std::chrono::milliseconds(30));
  udev.wait_for_name(host.call(), {.name = "eth0", .index = 7});
  EXPECT_FALSE(udev.has_named(7));
}

class NicBesideUdev : public NicFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, NicBesideUdev, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicBesideUdev, AClaimKeepsTheNameThatUdevGives) {
  const std::string function = "0000:41:00.0";
  NetworkNamespace node;
  if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
  ASSERT_TRUE(node.ip("link add eth7 type veth peer name peer7"));
  tree.card(function);
  tree.netdev("eth7", function);
  const UdevFolder database(tree.root() / "run/udev");
  ASSERT_TRUE(start());
  ModuleClaim claim = HardwareFixture::claim_of("u1", {"nic-0000-41-00-0"}, {}, "NicConfig");
  std::thread udev([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    database.write(kFirstIndex, kProperties + kRenaming + kEnd);
    EXPECT_TRUE(node.ip("link set eth7 name ens1"));
    tree.move_away("eth7", function);
    tree.netdev("ens1", function);
    database.write(kFirstIndex, kInitialized + kProperties + kEnd);
  });
  const auto edits = prepare(claim);
  udev.join();
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_TRUE(edits->statements.at(0).network);
  EXPECT_EQ(edits->statements.at(0).network->interface_name, "ens1");
}

}  // namespace
}  // namespace cardcage
