#include "host/sinks/kept_health.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace cardcage {
namespace {

using Outcome = KeptHealth::Outcome;
using ::testing::SizeIs;

Health about(const std::string& cause, std::size_t size) {
  return {.state = HealthState::kUnhealthy, .reason = "Bad", .message = std::string(size, 'm'), .cause = cause};
}

TEST(KeptHealthTest, KeepsTheLatestReportOfEachCause) {
  KeptHealth kept;
  EXPECT_EQ(kept.put("gpu-0", about("Ecc", 1)), Outcome::kKept);
  EXPECT_EQ(kept.put("gpu-0", about("Ecc", 2)), Outcome::kKept);
  EXPECT_EQ(kept.put("gpu-0", about("Fan", 3)), Outcome::kKept);
  const auto taken = kept.take();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_THAT(taken.at("gpu-0"), SizeIs(2));
  EXPECT_EQ(taken.at("gpu-0").at("Ecc").message, "mm");
  EXPECT_THAT(kept.take(), SizeIs(0));
}

TEST(KeptHealthTest, IsBoundedInCausesAndDevices) {
  KeptHealth kept;
  for (std::size_t i = 0; i < kMaxCauses; ++i)
    EXPECT_EQ(kept.put("gpu-0", about(std::to_string(i), 1)), Outcome::kKept);
  EXPECT_EQ(kept.put("gpu-0", about("more", 1)), Outcome::kTooManyCauses);
  for (std::size_t i = 1; i < kMaxDevices; ++i) ASSERT_EQ(kept.put(fmt::format("gpu-{}", i), {}), Outcome::kKept);
  EXPECT_EQ(kept.put("another", {}), Outcome::kTooMuch);
  EXPECT_EQ(kept.put("gpu-1", about("", 1)), Outcome::kKept);
}

TEST(KeptHealthTest, IsBoundedInBytes) {
  KeptHealth kept;
  std::size_t devices = 0;
  const auto add = [&](std::size_t device) {
    for (std::size_t cause = 0; cause < kMaxCauses; ++cause) {
      const Outcome outcome =
          kept.put(fmt::format("made-up-{}", device), about(std::to_string(cause), kMaxHealthMessage));
      if (outcome != Outcome::kKept) return outcome;
    }
    return Outcome::kKept;
  };
  while (devices < kMaxDevices && add(devices) == Outcome::kKept) ++devices;
  EXPECT_LE(devices * kMaxCauses * kMaxHealthMessage, KeptHealth::kMaxBytes);
  EXPECT_GT(devices, 500u);
  EXPECT_EQ(kept.put("one-more", about("Ecc", kMaxHealthMessage)), Outcome::kTooMuch);
  EXPECT_EQ(kept.put("made-up-0", about("0", kMaxHealthMessage)), Outcome::kKept) << "it takes no more room";
  EXPECT_EQ(kept.put("made-up-0", about("0", 1)), Outcome::kKept);
  kept.take();
  EXPECT_EQ(add(0), Outcome::kKept);
}

}  // namespace
}  // namespace cardcage
