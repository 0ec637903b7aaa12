// Actions that a confined module may have root perform, from its worker to the edits of a claim.
#include <unistd.h>

#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Texts = std::vector<std::string>;

class PermissionScenarios : public ScenarioFixture {
 protected:
  PermissionScenarios() {
    modules_dir = built_modules();
    fs::create_directory(folder / "hardware");
    wanted = config("libcardcage_mock.so", {{"mount_dir", (folder / "hardware").native()}});
  }
  Result<PreparedEdits> prepare() {
    if (module) run(module->stop(soon()));
    module.reset();
    auto loaded = load(wanted);
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    if (const Status started = run(module->start(events(), soon())); !started) return std::unexpected(started.error());
    return run(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
  }
  std::string error() {
    const auto prepared = prepare();
    return prepared ? "prepared" : prepared.error().message;
  }
  ModuleConfig wanted;
};

INSTANTIATE_TEST_SUITE_P(Isolation, PermissionScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(PermissionScenarios, WithoutListsAModuleGivesWhatItLikes) { EXPECT_TRUE(prepare()); }

TEST_P(PermissionScenarios, WhatIsNotListedFailsThePrepareAndNamesTheKey) {
  wanted.allows.device_nodes.emplace();
  EXPECT_EQ(
      error(),
      "the module may not give containers the device node '/dev/null': add \"/dev/null\", or a pattern, to the key "
      "device_nodes of its [[module]]");
  EXPECT_TRUE(run(module->call(UnprepareCall{claim("u1", {"gpu-0"})}, soon()))) << "it can be released";
}

class ConfinedModule : public PermissionScenarios {};
INSTANTIATE_TEST_SUITE_P(Isolation, ConfinedModule, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(ConfinedModule, GivesOnlyWhatIsListed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(folder / "hardware", fs::perms(0777));
  wanted.process.user = "nobody";
  wanted.process.capabilities.emplace();
  wanted.process.seccomp = true;
  EXPECT_THAT(error(), HasSubstr("the key device_nodes"));
  wanted.allows.device_nodes = Texts{"/dev/null"};
  EXPECT_THAT(error(), HasSubstr("the key mounts"));
  wanted.allows.mounts = Texts{(folder / "hardware/*").native()};
  EXPECT_THAT(error(), HasSubstr("the user of the module may write to the folder"))
      << "the named file could become a link to any other file before a runtime mounts it";
  wanted.process.user.clear();
  wanted.process.capabilities.reset();
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(prepared->allocations.front().mounts, SizeIs(1));
}

}  // namespace
}  // namespace cardcage
