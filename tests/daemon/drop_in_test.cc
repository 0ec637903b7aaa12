// Modules that come, change and break while the daemon runs.
#include <fstream>

#include "host/core/file.h"
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

}  // namespace
}  // namespace cardcage
