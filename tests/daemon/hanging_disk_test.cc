// The disk of the node hangs: no call of the kubelet, no probe and no command waits for it.
#include <cstdlib>

#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/http_get.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class HangingDiskTest : public DaemonTest {
 protected:
  HangingDiskTest() {
    configure("devices = [\"gpu:4\"]");
    std::string config = read_file(daemon.folder() / "cardcage.toml", 1 << 16).value_or("");
    const std::string off = "listen = \"\"";
    config.replace(config.find(off), off.size(), fmt::format("listen = \"127.0.0.1:{}\"", port));
    daemon.configure(config);
    ::setenv("LD_PRELOAD", built("tests/daemon/libcardcage_blocked_sync.so").c_str(), 1);
    ::setenv("BLOCKED_SYNC_BELOW", daemon.folder().c_str(), 1);
    ::setenv("BLOCKED_SYNC_WHILE", hangs.c_str(), 1);
    start_and_register();
    for (const char* name : {"LD_PRELOAD", "BLOCKED_SYNC_BELOW", "BLOCKED_SYNC_WHILE"}) ::unsetenv(name);
  }
  ~HangingDiskTest() override { recover(); }
  void hang() const { std::ofstream(hangs).flush(); }
  void recover() const { std::filesystem::remove(hangs); }

  const std::filesystem::path hangs = daemon.folder() / "hangs";
  const std::uint16_t port = free_port();
};

TEST_F(HangingDiskTest, NothingWaitsForIt) {
  const ClaimRef held = add_claim("held", {"gpu-0"}), next = add_claim("next", {"gpu-1"}),
                 late = add_claim("late", {"gpu-2"});
  ASSERT_THAT(prepare(held), SizeIs(1));
  hang();
  EXPECT_THAT(prepare(next), SizeIs(1));
  const Output quiesced = cagectl("module quiesce mock gpu-3");
  EXPECT_EQ(quiesced.code, 0) << quiesced.text;
  EXPECT_EQ(cagectl("module resume mock gpu-3").code, 0);
  EXPECT_TRUE(shows("status", "refusing", 20s));
  const auto refused = kubelet.prepare(kDriver, {late});
  ASSERT_TRUE(refused);
  ASSERT_FALSE(refused->at(late.uid));
  EXPECT_THAT(refused->at(late.uid).error().message, HasSubstr("its disk has not finished an access for"));
  EXPECT_EQ(http_get(port, "/readyz"), "") << "not ready";
  EXPECT_THAT(http_get(port, "/metrics"), HasSubstr("cardcage_ledger_ok 0\n"));
  for (const char* command : {"history", "device cordon gpu-2"}) {
    const Output failed = cagectl(command);
    EXPECT_NE(failed.code, 0);
    EXPECT_THAT(failed.text, HasSubstr("its disk has not finished an access for"));
  }
  EXPECT_TRUE(unprepare(held)) << "pods can still end";
  recover();
  EXPECT_TRUE(shows("status", "ledger         ok", 20s));
  EXPECT_EQ(http_get(port, "/readyz"), "ok\n");
  EXPECT_THAT(prepare(late), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
