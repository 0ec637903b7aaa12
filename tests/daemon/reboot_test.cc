// The node boots again and the kernel renumbers its cards, or a card takes over the number of another one.
#include <gmock/gmock.h>

#include "host/core/file.h"
#include "host/ledger/ledger.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/fake_pod_resources.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class RebootTest : public DaemonTest {
 protected:
  RebootTest() { find_cards(R"("0", "1")"); }

  // Plugs in the cards of these slots, numbered in this order.
  void find_cards(const std::string& slots, const std::string& seed = "") {
    daemon.configure(daemon.node_section((daemon.folder() / "node").native()) +
                     "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n[module.options]\nmount_dir = \"" +
                     hardware().native() + "\"\ndevices = [\"gpu:2\", \"fpga:2\"]\nuuid_ids = true\nseed = \"" + seed +
                     "\"\nslots = [" + slots + "]\n[[module.serve]]\napi = \"device-plugin\"\nresource = \"" + kFpga +
                     "\"\nselect = { kind = \"fpga\" }\n[[module.serve]]\napi = \"dra\"\ndriver = \"" + kDriver +
                     "\"\n");
  }
  // [while the daemon is dead] Makes the records those of an earlier boot, and empties the folders in memory.
  void reboot() {
    {
      asio::io_context core;
      SystemClock clock;
      auto ledger = Ledger::open(core, clock,
                                 {.file = daemon.folder() / "state/ledger.db",
                                  .intents = daemon.folder() / "run/intents",
                                  .cdi_folder = daemon.folder() / "cdi",
                                  .boot_id = read_boot_id().value(),
                                  .history = {},
                                  .fault = {}});
      ASSERT_TRUE(ledger) << ledger.error().message;
      const Ledger::Claims claims = (*ledger)->claims();
      for (const auto& [key, claim] : claims) {
        ClaimRecord earlier = *claim;
        earlier.boot_id = "an earlier boot";
        ASSERT_TRUE((*ledger)->put(std::move(earlier)));
      }
    }
    for (const char* name : {"run", "cdi", "hardware"}) std::filesystem::remove_all(daemon.folder() / name);
  }
  // The module's id of the device with this name.
  std::string id_of(const std::string& name) { return column_of(name, "id"); }
  std::string column_of(const std::string& device, const std::string& member) {
    const std::string text = cagectl("devices " + device + " --json").text;
    const std::string wanted = "\"" + member + "\": \"";
    const auto begin = text.find(wanted);
    if (begin == std::string::npos) return "";
    return text.substr(begin + wanted.size(), text.find('"', begin + wanted.size()) - begin - wanted.size());
  }
  std::string cdi_file(const std::string& uid) const {
    for (const std::string& name : files(daemon.folder() / "cdi"))
      if (name.find(uid) != std::string::npos) return read_file(daemon.folder() / "cdi" / name, 1 << 20).value();
    return "";
  }

  FakePodResources pods{daemon.folder() / "kubelet", daemon.folder() / "device-plugins"};
};

TEST_F(RebootTest, AClaimGetsTheCardThatHasItsNameNow) {
  const ClaimRef a = add_claim("a", {"gpu-0"}), b = add_claim("b", {"gpu-1"});
  start_and_register();
  ASSERT_FALSE(prepare(a).empty());
  ASSERT_FALSE(prepare(b).empty());
  const std::string first = id_of("gpu-0"), second = id_of("gpu-1");
  daemon.crash();
  reboot();
  find_cards(R"("1", "0")");
  start_and_register();
  ASSERT_TRUE(shows("devices", "gpu-0"));
  EXPECT_EQ(id_of("gpu-0"), second);
  EXPECT_THAT(cagectl("claims").text, AllOf(HasSubstr("earlier-boot"), Not(HasSubstr("prepared "))));
  EXPECT_THAT(cagectl("devices").text, Not(HasSubstr("default/a")));
  ASSERT_FALSE(prepare(b).empty());
  daemon.crash();
  start_and_register();
  ASSERT_FALSE(prepare(a).empty());
  EXPECT_THAT(cdi_file(a.uid), HasSubstr(second));
  EXPECT_THAT(cdi_file(b.uid), HasSubstr(first));
}

TEST_F(RebootTest, AClaimWhoseCardIsDeadIsNotOnThisNode) {
  const ClaimRef a = add_claim("a", {"gpu-0"}), b = add_claim("b", {"gpu-1"});
  start_and_register();
  ASSERT_FALSE(prepare(a).empty());
  ASSERT_FALSE(prepare(b).empty());
  const std::string second = id_of("gpu-1");
  daemon.crash();
  reboot();
  find_cards(R"("1")");
  start_and_register();
  ASSERT_FALSE(prepare(a).empty());
  EXPECT_THAT(cdi_file(a.uid), HasSubstr(second));
  const auto refused = kubelet.prepare(kDriver, {b})->at(b.uid);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is not on this node"));
}

TEST_F(RebootTest, APodKeepsTheCardWithItsId) {
  pods.start();
  daemon.start();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 2)) << daemon.log();
  const auto grant = manager.admit("train", "main", kFpga, 2);
  ASSERT_TRUE(grant) << grant.error().message;
  pods.put_pod({"default", "train", "uid-train", {{"main", {{kFpga, grant->ids}}}}});
  const std::string first = id_of("fpga-0"), second = id_of("fpga-1");
  daemon.crash();
  reboot();
  find_cards(R"("1", "0")");
  const auto lists = manager.lists(kFpga);
  daemon.start();
  ASSERT_TRUE(manager.wait_for([&] { return manager.lists(kFpga) > lists; })) << daemon.log();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 2)) << daemon.log();
  ASSERT_TRUE(manager.wait_for([&] { return files(daemon.folder() / "cdi").size() == 2; }, 15s)) << daemon.log();
  EXPECT_THAT(cdi_file("device_fpga-0"), HasSubstr(first));
  EXPECT_THAT(cdi_file("device_fpga-1"), HasSubstr(second));
  EXPECT_EQ(manager.amounts(kFpga)->allocatable, 2u) << "even after they are prepared";
  EXPECT_TRUE(manager.start_container("train", "main", kFpga));
}

TEST_F(RebootTest, ACardThatTookOverANumberIsUnhealthyUntilTheOtherOneIsReleased) {
  const ClaimRef b = add_claim("b", {"gpu-1"}), c = add_claim("cc", {"gpu-1"});
  start_and_register();
  ASSERT_FALSE(prepare(b).empty());
  const std::string before = id_of("gpu-1");
  daemon.crash();
  find_cards(R"("0", "1")", "other cards");
  start_and_register();
  ASSERT_TRUE(shows("devices gpu-1", "Replaced")) << cagectl("devices gpu-1").text;
  EXPECT_THAT(cagectl("devices gpu-1").text, AllOf(HasSubstr(before), HasSubstr("default/b")));
  EXPECT_THAT(cagectl("devices gpu-0").text, Not(HasSubstr("Replaced")));
  EXPECT_EQ(column_of("gpu-1", "state"), "unhealthy");
  const auto refused = kubelet.prepare(kDriver, {c})->at(c.uid);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(before));
  ASSERT_TRUE(unprepare(b));
  EXPECT_FALSE(prepare(c).empty());
  EXPECT_THAT(cagectl("devices gpu-1").text, Not(HasSubstr("Replaced")));
}

}  // namespace
}  // namespace cardcage
