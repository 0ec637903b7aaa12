// Module files that appear, change and break while the daemon runs.
#include <fstream>

#include "tests/daemon/admin_client.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/daemon/mounted_config_map.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

class DropInTest : public DaemonTest {
 protected:
  fs::path installed() const { return daemon.installed_module(); }
};

TEST_F(DropInTest, AReplacedFileIsAdoptedAndClaimsLiveOn) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  install_module(another_build());
  ASSERT_TRUE(logged("a new file of the module is taken over")) << daemon.log();
  EXPECT_EQ(prepare(claim), before);
  EXPECT_THAT(files(hardware()), SizeIs(1)) << "reconciled, not released";
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), SizeIs(0));
}

TEST_F(DropInTest, AFileOverwrittenInPlaceIsAdopted) {
  start_and_register();
  std::ofstream(installed(), std::ios::trunc) << another_build();
  EXPECT_TRUE(logged("a new file of the module is taken over")) << daemon.log();
}

TEST_F(DropInTest, ABrokenFileChangesNothingAndIsLogged) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  std::ofstream(installed(), std::ios::trunc) << "no module at all";
  ASSERT_TRUE(logged("the new file of a module is not taken over; the old one stays in use")) << daemon.log();
  EXPECT_THAT(prepare(claim), SizeIs(1));
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(DropInTest, AModuleInstalledAfterTheStartAppears) {
  const fs::path kept = daemon.folder() / "kept.so";
  fs::rename(installed(), kept);
  daemon.start();
  ASSERT_TRUE(logged("module is away")) << daemon.log();
  fs::rename(kept, installed());
  EXPECT_TRUE(kubelet.wait_registered(kDriver)) << daemon.log();
}

TEST_F(DropInTest, AFileInAConfigMapIsAdopted) {
  MountedConfigMap mounted(installed().parent_path(), installed().filename());
  mounted.write(another_build(""));
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  mounted.write(another_build());
  ASSERT_TRUE(logged("a new file of the module is taken over")) << daemon.log();
  EXPECT_EQ(prepare(claim), before);
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(DropInTest, AModuleDrainsWhileItsFileIsMissing) {
  AdminClient admin{daemon.folder() / "admin.sock"};
  const ClaimRef held = add_claim("one", {"gpu-0"}), late = add_claim("two", {"gpu-1"});
  start_and_register();
  const auto before = prepare(held);
  const fs::path kept = daemon.folder() / "kept.so";
  fs::rename(installed(), kept);
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "draining"; })) << daemon.log();
  EXPECT_THAT(admin.modules().modules(0).state().detail(), HasSubstr("was removed; 1 claim holds devices of it"));
  EXPECT_EQ(prepare(held), before);
  const auto refused = kubelet.prepare(kDriver, {late});
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->at(late.uid));
  EXPECT_TRUE(unprepare(held)) << "the instance still runs";
  EXPECT_THAT(files(hardware()), SizeIs(0));
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "backing off"; })) << daemon.log();

  fs::rename(kept, installed());
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "ready"; })) << daemon.log();
  EXPECT_THAT(prepare(late), SizeIs(1));
}

TEST_F(DropInTest, AFileThatReturnsEndsTheDraining) {
  AdminClient admin{daemon.folder() / "admin.sock"};
  const ClaimRef held = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(held);
  const fs::path kept = daemon.folder() / "kept.so";
  fs::rename(installed(), kept);
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "draining"; })) << daemon.log();
  fs::rename(kept, installed());
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "ready"; })) << daemon.log();
  EXPECT_FALSE(daemon.logged("is taken over")) << "the same file keeps the instance";
  EXPECT_TRUE(unprepare(held));
}

}  // namespace
}  // namespace cardcage
