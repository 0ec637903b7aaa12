// Modules that come, change and break while the daemon runs.
#include <fstream>

#include "host/core/file.h"
#include "tests/daemon/admin_client.h"
#include "tests/daemon/daemon_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

class DropInTest : public DaemonTest {
 protected:
  fs::path installed() const { return daemon.folder() / "modules/libcardcage_mock.so"; }
  // The same module as another file: what comes after its last section is nobody's.
  std::string another_build() const { return read_file(installed(), 64u << 20).value() + "another build"; }
  bool logged(const std::string& text) {
    return kubelet.wait_for([&] { return daemon.log().find(text) != std::string::npos; });
  }
};

TEST_F(DropInTest, AFileThatIsReplacedIsTakenOverAndClaimsLiveOn) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  std::ofstream(daemon.folder() / "modules/next") << another_build();
  fs::permissions(daemon.folder() / "modules/next", fs::perms(0644));
  fs::rename(daemon.folder() / "modules/next", installed());
  ASSERT_TRUE(logged("a new file of the module is taken over")) << daemon.log();
  EXPECT_EQ(prepare(claim), before);
  EXPECT_THAT(files(hardware()), SizeIs(1)) << "reconciled, not released";
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), SizeIs(0));
}

TEST_F(DropInTest, AFileThatIsOverwrittenInPlaceIsTakenOver) {
  start_and_register();
  const std::string content = another_build();
  std::ofstream(installed(), std::ios::trunc) << content;
  EXPECT_TRUE(logged("a new file of the module is taken over")) << daemon.log();
}

TEST_F(DropInTest, ABrokenFileChangesNothingAndIsSaid) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  std::ofstream(installed(), std::ios::trunc) << "no module at all";
  ASSERT_TRUE(logged("the new file of a module is not taken over; the old one goes on")) << daemon.log();
  EXPECT_THAT(prepare(claim), SizeIs(1));
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(DropInTest, AModuleThatIsCopiedThereAfterTheStartAppears) {
  const fs::path kept = daemon.folder() / "kept.so";
  fs::rename(installed(), kept);
  daemon.start();
  ASSERT_TRUE(logged("module is away")) << daemon.log();
  fs::rename(kept, installed());
  EXPECT_TRUE(kubelet.wait_registered(kDriver)) << daemon.log();
}

// As the kubelet swaps a ConfigMap: the file is a link into "..data", which is a link to the newest folder.
TEST_F(DropInTest, AFileBehindLinksThatAreSwappedIsTakenOver) {
  const fs::path modules = daemon.folder() / "modules";
  const std::string first = read_file(installed(), 64u << 20).value(), next = another_build();
  const auto write_version = [&](const std::string& name, const std::string& content) {
    fs::create_directory(modules / name);
    std::ofstream(modules / name / installed().filename()) << content;
  };
  fs::remove(installed());
  write_version("..2026_1", first);
  fs::create_directory_symlink("..2026_1", modules / "..data");
  fs::create_symlink(fs::path("..data") / installed().filename(), installed());
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  write_version("..2026_2", next);
  fs::create_directory_symlink("..2026_2", modules / "..data_tmp");
  fs::rename(modules / "..data_tmp", modules / "..data");
  fs::remove_all(modules / "..2026_1");
  ASSERT_TRUE(logged("a new file of the module is taken over")) << daemon.log();
  EXPECT_EQ(prepare(claim), before);
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(DropInTest, AModuleWhoseFileIsRemovedDrainsUntilItIsBack) {
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
  EXPECT_TRUE(unprepare(held)) << "by the instance that still runs";
  EXPECT_THAT(files(hardware()), SizeIs(0));
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "backing off"; })) << daemon.log();

  fs::rename(kept, installed());
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "ready"; })) << daemon.log();
  EXPECT_THAT(prepare(late), SizeIs(1));
}

TEST_F(DropInTest, AFileThatIsBackWhileItsModuleDrainsTakesItBack) {
  AdminClient admin{daemon.folder() / "admin.sock"};
  const ClaimRef held = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(held);
  const fs::path kept = daemon.folder() / "kept.so";
  fs::rename(installed(), kept);
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "draining"; })) << daemon.log();
  fs::rename(kept, installed());
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("mock") == "ready"; })) << daemon.log();
  EXPECT_EQ(daemon.log().find("is taken over"), std::string::npos) << "the same file, the same instance";
  EXPECT_TRUE(unprepare(held));
}

}  // namespace
}  // namespace cardcage
