#include "host/claim/cdi_keeper.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

// Keeps this process from opening further descriptors.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd lowest(::dup(STDERR_FILENO));
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(lowest.get());
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

class CdiKeeperTest : public ClaimWorld {
 protected:
  void pass(Duration time) {
    advance_at_rest(time);
    settle();
  }
  std::vector<ClaimKey> restored;
  const CdiKeeper::Restored note_restored = [this](std::vector<ClaimKey> claims) { restored = std::move(claims); };
  void remove_file() { std::filesystem::remove(cdi.folder() / claim_file_name({Api::kDra, kDriver}, "u1")); }
};

TEST_F(CdiKeeperTest, RestoresARemovedFileAfterASecond) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  const CdiKeeper keeper(core, clock, *ledger, cdi, note_restored);
  remove_file();
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_THAT(restored, ::testing::ElementsAre(ClaimKey{kDriver, "u1"}));
}

TEST_F(CdiKeeperTest, LooksNowAndThenWithoutInotify) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  std::optional<CdiKeeper> keeper;
  // UBSan opens descriptors when it meets a type for the first time.
  keeper.emplace(core, clock, *ledger, cdi, note_restored);
  keeper.reset();
  {
    const NoDescriptors none;
    keeper.emplace(core, clock, *ledger, cdi, note_restored);
  }
  for (int i = 0; i < 3; ++i) {
    remove_file();
    pass(std::chrono::seconds(1));
    EXPECT_FALSE(has_cdi_file("u1"));
    pass(std::chrono::seconds(29));
    EXPECT_TRUE(has_cdi_file("u1"));
  }
}

}  // namespace
}  // namespace cardcage
