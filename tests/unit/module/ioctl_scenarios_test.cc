// The data of an ioctl of cage.write: checked files, parts of them, and a device that no other process has open.
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>

#include "host/core/digest.h"
#include "tests/fakes/fake_sysfs.h"
#include "tests/fakes/loop_device.h"
#include "tests/unit/module/write_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kContent = "a header of 18 B: 0123456789abcdef and more";

class IoctlScenarios : public WriteFixture {
 protected:
  void SetUp() override {
    if (!sysfs.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    std::ofstream(bits) << kContent << std::flush;
    ::chmod(bits.c_str(), 0644);
  }
  // Runs before the fake ends, so that no blocked process outlives the test.
  void TearDown() override { let_go(); }

  // Starts with the card's ioctl and bytes of a file; "" = the file is not checked.
  Status start_with_data(const std::string& file, std::size_t start, const std::string& sha256) {
    return start_with({fmt::format("ioctl {} c0104301 0700000000000000aaaaaaaaaaaaaaaa {} 8 {:x} {}",
                                   sysfs.card().native(), file, start, sha256)},
                      {sysfs.card().native(), all_here(), "/sys/kernel/*"});
  }
  // The reason and code of the refusal; the device must not have been opened.
  std::string refusal(const std::string& file, std::size_t start, const std::string& sha256) {
    const Status started = start_with_data(file, start, sha256);
    if (!started) return started.error().message;
    const auto prepared = prepare();
    EXPECT_THAT(sysfs.opened(), IsEmpty());
    return prepared ? "it succeeded" : to_string(prepared.error().code) + ": " + prepared.error().message;
  }
  std::string refusal_of_bits() { return refusal(bits.native(), 0, sha256_hex(kContent)); }

  FakeSysfs sysfs;
  const fs::path bits = folder / "bits";
};

INSTANTIATE_TEST_SUITE_P(Isolation, IoctlScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(IoctlScenarios, TheDeviceGetsTheBytesFromTheStartOfACheckedFile) {
  ASSERT_TRUE(start_with_data(bits.native(), 18, sha256_hex(kContent)));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(sysfs.seen(), "0123456789abcdef");
  EXPECT_THAT(prepared->claim.env, Contains(EnvVar{"MOCK_WRITE", "0800000000000000aaaaaaaaaaaaaaaa"}));
  EXPECT_THAT(sysfs.opened(), ElementsAre("devices/card"));
}

TEST_P(IoctlScenarios, TheDeviceGetsTheBytesFromTheStartOfAFileThatIsNotChecked) {
  ASSERT_TRUE(start_with_data(bits.native(), 18, ""));
  ASSERT_TRUE(prepare());
  EXPECT_EQ(sysfs.seen(), "0123456789abcdef");
}

TEST_P(IoctlScenarios, AFileIsCheckedPieceByPiece) {
  std::string content(3 << 20, 'x');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i / 7);
  content += kContent;
  std::ofstream(bits) << content << std::flush;
  ASSERT_TRUE(start_with_data(bits.native(), content.size() - kContent.size() + 18, sha256_hex(content)));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(sysfs.seen(), "0123456789abcdef");
  content[2 << 20] ^= 1;
  std::ofstream(bits) << content << std::flush;
  EXPECT_THAT(failure(), HasSubstr("has the SHA-256 " + sha256_hex(content) + " and not "));
}

TEST_P(IoctlScenarios, AFileWithAnotherSha256IsRefusedBeforeTheDeviceIsOpened) {
  const std::string wanted(64, 'a');
  EXPECT_THAT(refusal(bits.native(), 0, wanted),
              AllOf(HasSubstr("data loss: "), HasSubstr(fmt::format("'{}' has the SHA-256 {} and not {}: it is damaged "
                                                                    "or another file; install the right one",
                                                                    bits.native(), sha256_hex(kContent), wanted))));
}

TEST_P(IoctlScenarios, AFileThatOthersMayWriteIsNotTrusted) {
  ::chmod(bits.c_str(), 0646);
  EXPECT_THAT(refusal_of_bits(), AllOf(HasSubstr("permission denied: "),
                                       HasSubstr("' has mode 0646: only its owner may write it: chmod go-w")));
  let_go();
  ::chmod(bits.c_str(), 0664);
  EXPECT_THAT(refusal_of_bits(), HasSubstr("' has mode 0664: only its owner may write it: chmod go-w"));
  let_go();
  ::chmod(bits.c_str(), 0644);
  ASSERT_EQ(::chown(bits.c_str(), 4711, 0), 0);
  EXPECT_THAT(refusal_of_bits(),
              AllOf(HasSubstr("permission denied: "),
                    HasSubstr("' belongs to user 4711: only root or the user of cardcage may own it; chown root")));
}

TEST_P(IoctlScenarios, ALinkIsNotTrusted) {
  fs::create_symlink("bits", folder / "link");
  EXPECT_THAT(refusal(here("link"), 0, sha256_hex(kContent)),
              HasSubstr("'" + here("link") + "' is a link: give the path of the file itself"));
}

TEST_P(IoctlScenarios, OnlyAFileWithContentIsChecked) {
  fs::create_directory(folder / "subfolder");
  EXPECT_THAT(refusal(here("subfolder"), 0, std::string(64, 'a')), HasSubstr("' is empty or not a regular file"));
  let_go();
  std::ofstream(folder / "empty").flush();
  EXPECT_THAT(refusal(here("empty"), 0, sha256_hex("")), HasSubstr("' is empty or not a regular file"));
}

TEST_P(IoctlScenarios, AFileOfMoreThanOneGibibyteIsNotChecked) {
  constexpr std::uintmax_t kTooLarge = (std::uintmax_t{1} << 30) + 1;
  fs::resize_file(bits, kTooLarge);
  EXPECT_THAT(refusal_of_bits(),
              AllOf(HasSubstr("invalid argument: "),
                    HasSubstr(fmt::format("'{}' has {} bytes, at most 1 GiB is checked", bits.native(), kTooLarge))));
}

TEST_P(IoctlScenarios, AStartBeyondTheEndIsRefused) {
  for (const std::string& sha256 : {sha256_hex(kContent), std::string()})
    for (const std::size_t start : {kContent.size(), std::size_t{0} - 8}) {
      EXPECT_THAT(
          refusal(bits.native(), start, sha256),
          AllOf(HasSubstr("invalid argument: "), HasSubstr(fmt::format("data_start is {}, and '{}' has {} bytes", start,
                                                                       bits.native(), kContent.size()))));
      let_go();
    }
}

// The files of sysfs report a size of 4096 bytes.
TEST_P(IoctlScenarios, AFileThatIsShorterThanItSaysIsRefused) {
  EXPECT_THAT(refusal("/sys/kernel/uevent_seqnum", 0, std::string(64, 'a')),
              AllOf(HasSubstr("data loss: "), HasSubstr("'/sys/kernel/uevent_seqnum' changed while it was read")));
}

TEST_P(IoctlScenarios, AFileThatGrowsWhileItIsReadIsRefused) {
  fs::resize_file(bits, 64 << 20);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (std::ofstream file(bits, std::ios::app); !done; std::this_thread::sleep_for(std::chrono::microseconds(100)))
      file << 'x' << std::flush;
  });
  const std::string why = refusal_of_bits();
  done = true;
  writer.join();
  EXPECT_THAT(why, HasSubstr("changed while it was read: try again when no process writes it"));
}

TEST_P(IoctlScenarios, AnExclusiveIoctlNeedsADeviceThatNobodyElseHasOpen) {
  fs::resize_file(bits, 64 << 10);
  const LoopDevice loop(bits);
  if (!loop) GTEST_SKIP() << "no loop device can be had here";
  // BLKSSZGET
  const std::string request = fmt::format(" {} 1268 00000000", loop.path());
  UniqueFd holder(::open(loop.path().c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  ASSERT_TRUE(holder);
  ASSERT_TRUE(start_with({"ioctl" + request}, {"/dev/loop*"}));
  EXPECT_THAT(failure(), "it succeeded");
  let_go();
  ASSERT_TRUE(start_with({"exclusive" + request}, {"/dev/loop*"}));
  const auto refused = prepare();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("'" + loop.path() + "' is in use: end the process that has it open"));
  holder = UniqueFd();
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(prepared->claim.env, Contains(EnvVar{"MOCK_WRITE", "00020000"}));
}

}  // namespace
}  // namespace cardcage
