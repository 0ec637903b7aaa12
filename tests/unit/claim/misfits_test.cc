// Prepared claims whose container edits no longer fit the node: a driver was replaced in the same boot.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/unit/claim/allocator_world.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class MisfitsTest : public AllocatorWorld {
 protected:
  MisfitsTest() {
    gpus->edits = [this](const ModuleClaim& claim) {
      return PreparedEdits{.claim = given, .allocations = {of_device}, .state = "state of " + claim.ref.uid};
    };
    mount("lib-1");
  }

  std::string path(const std::string& name) const { return (folder / name).native(); }
  // Puts the file on the node as a file of the driver, and lets the module mount it, with one that the daemon does not
  // see.
  void mount(const std::string& name) {
    std::ofstream(path(name)) << "library";
    given.mounts = {{.host_path = path(name), .container_path = "/lib", .type = "", .options = {}},
                    {.host_path = "/host/only", .container_path = "/other", .type = "", .options = {}}};
  }
  // Replaces a file as an upgrade of the driver does.
  void replace(const std::string& before, const std::string& after) {
    std::filesystem::remove(path(before));
    mount(after);
  }
  // Waits until the daemon has checked the paths, which it does after its response.
  void prepare_and_look() {
    ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
    advance_at_rest(std::chrono::milliseconds(200));
    ASSERT_TRUE(until([&] { return has_looked(kDriver, "u1"); }));
  }
  void allocate_and_look(const std::string& id, const std::string& uid) {
    ASSERT_TRUE(allocate({id}));
    advance_at_rest(std::chrono::milliseconds(200));
    ASSERT_TRUE(until([&] { return has_looked(kResource, uid); }));
  }
  bool has_looked(const std::string& driver, const std::string& uid) const {
    return !ledger->find({driver, uid})->parts[0].unseen_paths.empty();
  }
  int prepares() const { return gpus->count<PrepareCall>(); }

  Edits given, of_device;
};

TEST_F(MisfitsTest, WhatFitsIsRepeatedWithoutTheModule) {
  of_device.device_nodes = {{.path = "/dev/null", .type = "c", .major = 1, .minor = 3}};
  prepare_and_look();
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 1);
}

// The daemon has not yet checked which paths it does not see.
TEST_F(MisfitsTest, ACallRightAfterAPrepareIsRepeatedWithoutTheModule) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  EXPECT_TRUE(prepare("u1"));
  ASSERT_TRUE(allocate({"GPU-1"}));
  EXPECT_TRUE(allocate({"GPU-1"})) << "for another container of the pod";
  EXPECT_EQ(prepares(), 2) << "one for the claim, one for the resource";
}

TEST_F(MisfitsTest, TheModuleIsAskedAgainForAPathThatIsGone) {
  prepare_and_look();
  replace("lib-1", "lib-2");
  const auto again = prepare("u1");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(prepares(), 2);
  EXPECT_EQ(gpus->holds["u1"].state, "state of u1");
  EXPECT_FALSE(gpus->holds["u1"].other_boot);
  EXPECT_THAT(cdi_text("u1"), AllOf(HasSubstr("lib-2"), Not(HasSubstr("lib-1"))));
  start();
  EXPECT_THAT(cdi_text("u1"), HasSubstr("lib-2")) << "the record has it, too";
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 2);
}

TEST_F(MisfitsTest, AnErrorNamesThePathIfTheModuleCannot) {
  prepare_and_look();
  replace("lib-1", "lib-2");
  gpus->fail<PrepareCall>({Code::kInternal, "no driver is loaded"});
  EXPECT_THAT(text_of(prepare("u1")), AllOf(HasSubstr(path("lib-1")), HasSubstr("no driver is loaded")));
  ASSERT_TRUE(prepare("u1"));
  EXPECT_THAT(cdi_text("u1"), HasSubstr("lib-2"));
}

TEST_F(MisfitsTest, AnErrorNamesThePathIfTheClusterIsAway) {
  prepare_and_look();
  replace("lib-1", "lib-2");
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 2, {Code::kUnavailable, "connection refused"});
  EXPECT_THAT(text_of(prepare("u1")), HasSubstr(path("lib-1")));
  EXPECT_TRUE(is_whole(*record("u1"), boot_id));
}

TEST_F(MisfitsTest, ANodeWithAnotherNumberDoesNotFit) {
  std::filesystem::create_symlink("/dev/null", path("node"));
  of_device.device_nodes = {{.path = "/dev/acme", .host_path = path("node"), .type = "c", .major = 1, .minor = 3}};
  prepare_and_look();
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 1);
  std::filesystem::remove(path("node"));
  std::filesystem::create_symlink("/dev/zero", path("node"));
  of_device.device_nodes[0].minor = 5;
  ASSERT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 2);
  EXPECT_EQ(record("u1")->parts[0].devices[0].edits.device_nodes[0].minor, 5);
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 2);
}

TEST_F(MisfitsTest, NeitherDoesANodeOfAnotherType) {
  ASSERT_EQ(::mkfifo(path("node").c_str(), 0600), 0);
  of_device.device_nodes = {{.path = path("node"), .type = "p"}};
  prepare_and_look();
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 1);
  std::filesystem::remove(path("node"));
  std::ofstream(path("node")) << "a file";
  gpus->fail<PrepareCall>({Code::kInternal, "no"});
  EXPECT_THAT(text_of(prepare("u1")), HasSubstr(path("node")));
}

// The daemon in a container sees few paths of the host.
TEST_F(MisfitsTest, APathThatTheDaemonNeverSawIsNotMissed) {
  prepare_and_look();
  ASSERT_TRUE(prepare("u1"));
  let_the_ledger_write();
  start();
  ASSERT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 1);
  replace("lib-1", "lib-2");
  ASSERT_TRUE(prepare("u1"));
  EXPECT_EQ(prepares(), 2) << "the other paths are missed";
}

TEST_F(MisfitsTest, ADeviceOfAResourceIsPreparedAgain) {
  allocate_and_look("GPU-0", "gpu-0");
  replace("lib-1", "lib-2");
  ASSERT_TRUE(allocate({"GPU-0"})) << "for another container of the pod";
  EXPECT_EQ(prepares(), 2);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  EXPECT_EQ(cdi.read({{Api::kDevicePlugin, kResource}, "gpu-0"})->edits.mounts[0].host_path, path("lib-2"));
}

TEST_F(MisfitsTest, TheHostRepeatsThePrepareByItself) {
  prepare_and_look();
  allocate_and_look("GPU-1", "gpu-1");
  run(preparer->refit("u1", soon()));
  run(allocator->refit("gpu-1", soon()));
  run(preparer->refit("unknown", soon()));
  EXPECT_EQ(prepares(), 2) << "all edits fit";
  replace("lib-1", "lib-2");
  run(preparer->refit("u1", soon()));
  run(allocator->refit("gpu-1", soon()));
  EXPECT_EQ(prepares(), 4);
  EXPECT_THAT(cdi_text("u1"), HasSubstr("lib-2"));
}

}  // namespace
}  // namespace cardcage
