// Claims on the mock: the edits of containers, the claim that holds each device, and leftovers.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/scratch_folder.h"
#include "tests/abi/raw_host.h"

namespace cardcage::raw {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Strings = std::vector<std::string>;

std::string prepared(Instance& instance, const std::string& uid, const std::vector<Alloc>& allocs) {
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim(uid, allocs), edits), CAGE_OK) << instance.explanation;
  return edits.state;
}

Strings files(const std::filesystem::path& folder) {
  Strings names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

std::string content(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(MockPrepare, AContainerGetsIdentityNodeAndFile) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}, {"device_node", "/dev/zero"}});
  const std::string uuid = instance.discover()->devices.at("gpu-1").attrs.at("uuid");
  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("uid-1", {{.device = "gpu-1"}}), edits), CAGE_OK) << instance.explanation;
  EXPECT_THAT(edits.lines[-1], ElementsAre("list MOCK_CLAIM+=uid-1"));
  const std::string file = (folder / "gpu-1@uid-1").string();
  EXPECT_THAT(edits.lines[0], ElementsAre("env MOCK_GPU_1=" + uuid, "node /dev/mock/gpu-1 <- /dev/zero rw",
                                          "mount " + file + " -> /run/mock/gpu-1 ro,bind,nosuid,nodev"));
  EXPECT_THAT(content(file),
              AllOf(HasSubstr("device=gpu-1\n"), HasSubstr("uuid=" + uuid), HasSubstr("claim_uid=uid-1")));
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-1"}}, edits.state)), CAGE_OK) << instance.explanation;
  EXPECT_THAT(files(folder.path()), IsEmpty());
}

TEST(MockPrepare, WithoutAFolderThereIsNoMount) {
  Instance instance(mock(), {});
  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("uid-1", {{.device = "nic-0"}}), edits), CAGE_OK);
  EXPECT_THAT(edits.lines[0], ElementsAre(HasSubstr("env MOCK_NIC_0="), "node /dev/mock/nic-0 <- /dev/null rw"));
}

TEST(MockPrepare, ParametersAppearInTheEnvironment) {
  Instance instance(mock(), {});
  const cage_params_schema& any = *mock()->schemas[0];
  const Values defaults(any, {});
  const Values given(any,
                     {{"sharing", "timeSlicing"}, {"intervalMs", std::int64_t{25}}, {"env", Strings{"A=b=c", "odd"}}});
  Edits edits;
  ASSERT_EQ(instance.prepare(
                Claim("u", {{.device = "gpu-0", .values = &defaults}, {.device = "gpu-1", .values = &given}}), edits),
            CAGE_OK);
  EXPECT_THAT(edits.lines[0],
              AllOf(Contains("env MOCK_GPU_0_SHARING=exclusive"), Contains("env MOCK_GPU_0_INTERVAL_MS=10")));
  EXPECT_THAT(edits.lines[1], AllOf(Contains("env MOCK_GPU_1_SHARING=timeSlicing"),
                                    Contains("env MOCK_GPU_1_INTERVAL_MS=25"), Contains("env A=b=c")));
}

TEST(MockPrepare, ParametersOfEachKindAppearInTheEnvironment) {
  Instance instance(mock(), {});
  const Values gpu(*mock()->schemas[1],
                   {{"sharing.strategy", "spatial"}, {"sharing.memoryLimits", Map{{"main", "4Gi"}, {"side", "1Gi"}}}});
  const Values nic(*mock()->schemas[2], {{"mtu", std::int64_t{9000}}});
  Edits edits;
  ASSERT_EQ(
      instance.prepare(Claim("u", {{.device = "gpu-0", .values = &gpu}, {.device = "nic-0", .values = &nic}}), edits),
      CAGE_OK);
  EXPECT_THAT(edits.lines[0],
              AllOf(Contains("env MOCK_GPU_0_SHARING=spatial"), Contains("env MOCK_GPU_0_SHARING_FROM=claim"),
                    Contains("env MOCK_GPU_0_MEMORY_LIMITS=main=4Gi,side=1Gi"), Contains("env MOCK_GPU_0_MAX_MHZ=0")));
  EXPECT_THAT(edits.lines[1], Contains("env MOCK_NIC_0_MTU=9000"));
}

TEST(MockPrepare, SharesAndConsumedCapacityAppearInTheEnvironment) {
  Instance instance(mock(), {{"shared", true}});
  const cage_quantity memory = {CAGE_LIT("memory"), 8, 0, CAGE_QTY_BINARY};
  const cage_quantity power = {CAGE_LIT("power"), 15, -1, CAGE_QTY_DECIMAL};
  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("u", {{.device = "gpu-0", .share_id = "s-1", .consumed = {memory, power}},
                                         {.device = "gpu-0", .share_id = "s-2"}}),
                             edits),
            CAGE_OK);
  EXPECT_THAT(edits.lines[0], AllOf(Contains("list MOCK_GPU_0_SHARE+=s-1"), Contains("list MOCK_GPU_0_MEMORY+=8"),
                                    Contains("list MOCK_GPU_0_POWER+=15e-1")));
  EXPECT_TRUE(edits.has(1, "list MOCK_GPU_0_SHARE+=s-2"));
}

TEST(MockPrepare, TheSameClaimCanBePreparedAgain) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}});
  Edits first, second;
  const Claim claim("uid-1", {{.device = "gpu-0"}, {.device = "gpu-1"}});
  ASSERT_EQ(instance.prepare(claim, first), CAGE_OK);
  ASSERT_EQ(instance.prepare(claim, second), CAGE_OK);
  EXPECT_EQ(first.lines, second.lines);
  EXPECT_EQ(first.state, second.state);
  EXPECT_THAT(files(folder.path()), UnorderedElementsAre("gpu-0@uid-1", "gpu-1@uid-1"));
}

TEST(MockPrepare, AnotherClaimIsRefusedUntilTheFirstIsUnprepared) {
  Instance instance(mock(), {});
  const std::string state = prepared(instance, "uid-1", {{.device = "gpu-0"}});
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("uid-2", {{.device = "gpu-1"}, {.device = "gpu-0"}}), edits),
            CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(instance.explanation, AllOf(HasSubstr("'gpu-0'"), HasSubstr("uid-1")));
  EXPECT_TRUE(edits.lines.empty());
  prepared(instance, "uid-3", {{.device = "gpu-1"}});
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state)), CAGE_OK);
  prepared(instance, "uid-2", {{.device = "gpu-0"}});
}

TEST(MockPrepare, SharedDevicesTakeManyClaims) {
  Instance instance(mock(), {{"shared", true}});
  const std::string first = prepared(instance, "uid-1", {{.device = "gpu-0"}});
  prepared(instance, "uid-2", {{.device = "gpu-0"}});
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, first)), CAGE_OK);
}

TEST(MockPrepare, AGpuAndItsPartitionsExcludeEachOther) {
  Instance instance(mock(), {{"partitions", std::int64_t{2}}});
  prepared(instance, "uid-1", {{.device = "gpu-0-part-0"}});
  prepared(instance, "uid-2", {{.device = "gpu-0-part-1"}});
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("uid-3", {{.device = "gpu-0"}}), edits), CAGE_FAILED_PRECONDITION);
  prepared(instance, "uid-4", {{.device = "gpu-1"}});
  EXPECT_EQ(instance.prepare(Claim("uid-5", {{.device = "gpu-1-part-0"}}), edits), CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(instance.explanation, AllOf(HasSubstr("'gpu-1-part-0'"), HasSubstr("'gpu-1'"), HasSubstr("uid-4")));
}

TEST(MockPrepare, AdminAccessDisturbsNobodyAndLeavesNothingBehind) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}});
  prepared(instance, "uid-1", {{.device = "gpu-0"}});
  Edits edits;
  const Claim admin("uid-2", {{.device = "gpu-0", .flags = CAGE_ALLOC_ADMIN}});
  ASSERT_EQ(instance.prepare(admin, edits), CAGE_OK) << instance.explanation;
  EXPECT_TRUE(edits.has(0, "env MOCK_GPU_0_ADMIN=1"));
  EXPECT_THAT(files(folder.path()), ElementsAre("gpu-0@uid-1"));
  EXPECT_EQ(instance.unprepare(admin), CAGE_OK);
  EXPECT_THAT(files(folder.path()), ElementsAre("gpu-0@uid-1"));
}

TEST(MockPrepare, APrepareThatFailsHalfwayLeavesNothingBehind) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}});
  const Claim claim("uid-1", {{.device = "gpu-0"}, {.device = "gpu-1"}});
  for (int accepted = 0; accepted < 7; ++accepted) {
    Edits edits;
    edits.accept_at_most = accepted;
    EXPECT_EQ(instance.prepare(claim, edits), CAGE_INVALID_ARGUMENT) << accepted;
    EXPECT_THAT(files(folder.path()), IsEmpty()) << accepted;
  }
  prepared(instance, "uid-2", {{.device = "gpu-0"}, {.device = "gpu-1"}});
}

TEST(MockPrepare, AFailingSecondPrepareKeepsTheDevicesOfTheFirst) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}});
  prepared(instance, "uid-1", {{.device = "gpu-0"}});
  Edits edits;
  edits.accept_at_most = 0;
  EXPECT_EQ(instance.prepare(Claim("uid-1", {{.device = "gpu-0"}}), edits), CAGE_INVALID_ARGUMENT);
  EXPECT_THAT(files(folder.path()), ElementsAre("gpu-0@uid-1"));
}

TEST(MockPrepare, AMissingFolderIsARetryableError) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", (folder / "state").string()}});
  std::filesystem::remove(folder / "state");
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("uid-1", {{.device = "gpu-0"}}), edits), CAGE_UNAVAILABLE);
  EXPECT_THAT(instance.explanation, HasSubstr("No such file"));
}

TEST(MockPrepare, UnknownDevicesAndMalformedUidsAreRefused) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", (folder / "state").string()}});
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("uid-1", {{.device = "gpu-99"}}), edits), CAGE_NOT_FOUND);
  for (const std::string& uid :
       {std::string(), std::string("../x"), std::string("a/b"), std::string(200, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(instance.prepare(Claim(uid, {{.device = "gpu-0"}}), edits), CAGE_INVALID_ARGUMENT) << uid;
    EXPECT_EQ(instance.unprepare(Claim(uid, {{.device = "gpu-0"}})), CAGE_INVALID_ARGUMENT) << uid;
  }
  EXPECT_THAT(files(folder.path()), ElementsAre("state"));
}

TEST(MockUnprepare, IsIdempotentAndWorksForClaimsNeverPrepared) {
  Instance instance(mock(), {});
  const Claim claim("uid-1", {{.device = "gpu-0"}, {.device = "never-existed"}});
  EXPECT_EQ(instance.unprepare(claim), CAGE_OK);
  EXPECT_EQ(instance.unprepare(claim), CAGE_OK);
}

TEST(MockUnprepare, DoesNotFreeADeviceOfAnotherClaim) {
  Instance instance(mock(), {});
  prepared(instance, "uid-1", {{.device = "gpu-0"}});
  EXPECT_EQ(instance.unprepare(Claim("uid-2", {{.device = "gpu-0"}})), CAGE_OK);
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("uid-2", {{.device = "gpu-0"}}), edits), CAGE_FAILED_PRECONDITION);
}

TEST(MockUnprepare, AStateThatPrepareDidNotSaveIsDetected) {
  Instance instance(mock(), {});
  const std::string state = prepared(instance, "uid-1", {{.device = "gpu-0"}});
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state + "x")), CAGE_INTERNAL);
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-1"}}, state)), CAGE_INTERNAL);
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state, 2)), CAGE_INTERNAL);
  EXPECT_THAT(instance.explanation, HasSubstr("uid-1"));
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state)), CAGE_OK);
}

TEST(MockHolds, SurviveTheInstanceAsFiles) {
  const ScratchFolder folder;
  std::string state;
  {
    Instance before(mock(), {{"mount_dir", folder.path().string()}});
    state = prepared(before, "uid-1", {{.device = "gpu-0"}});
  }
  std::ofstream(folder / "notes.txt") << "not ours";
  Instance after(mock(), {{"mount_dir", folder.path().string()}});
  Edits edits;
  EXPECT_EQ(after.prepare(Claim("uid-2", {{.device = "gpu-0"}}), edits), CAGE_FAILED_PRECONDITION);
  EXPECT_EQ(after.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state)), CAGE_OK);
  EXPECT_THAT(files(folder.path()), ElementsAre("notes.txt"));
}

TEST(MockReconcile, FreesDevicesThatNoLiveClaimHolds) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}});
  prepared(instance, "gone", {{.device = "gpu-0"}, {.device = "gpu-1"}});
  prepared(instance, "live", {{.device = "gpu-2"}, {.device = "gpu-3"}});
  const Claim live("live", {{.device = "gpu-2"}});
  const cage_claim* claims[] = {live.get()};
  const auto* family = static_cast<const cage_reconcile*>(mock()->extension(CAGE_EXT_RECONCILE));
  const Call call;
  EXPECT_EQ(family->keep(instance.get(), call.get(), claims, 1), CAGE_OK);
  EXPECT_THAT(files(folder.path()), ElementsAre("gpu-2@live"));
  EXPECT_EQ(family->keep(instance.get(), call.get(), nullptr, 0), CAGE_OK);
  EXPECT_THAT(files(folder.path()), IsEmpty());
  EXPECT_THAT(instance.host.logs, Contains(HasSubstr("claim gone")));
}

cage_status pre_start(Instance& instance, const Claim& claim) {
  const auto* family = static_cast<const cage_pre_start*>(mock()->extension(CAGE_EXT_PRE_START));
  const Call call;
  const cage_status status = family->pre_start(instance.get(), call.get(), claim.get());
  instance.explanation = call.explanation;
  return status;
}

TEST(MockPreStart, EachPreStartAddsALineToTheFile) {
  const ScratchFolder folder;
  const std::map<std::string, Value> options = {{"mount_dir", folder.path().string()}};
  const Claim claim("uid-1", {{.device = "gpu-0"}});
  {
    Instance before(mock(), options);
    prepared(before, "uid-1", {{.device = "gpu-0"}});
    EXPECT_EQ(pre_start(before, claim), CAGE_OK) << before.explanation;
  }
  Instance after(mock(), options);
  EXPECT_EQ(pre_start(after, claim), CAGE_OK) << after.explanation;
  EXPECT_THAT(content(folder / "gpu-0@uid-1"), testing::EndsWith("claim_uid=uid-1\nstart\nstart\n"));
  Edits edits;
  EXPECT_EQ(after.prepare(claim, edits), CAGE_OK);
  EXPECT_THAT(content(folder / "gpu-0@uid-1"), testing::EndsWith("start\nstart\n"));
}

TEST(MockPreStart, PreStartNeedsADeviceThatIsPreparedAndPresent) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}});
  EXPECT_EQ(pre_start(instance, Claim("uid-1", {{.device = "gpu-0"}})), CAGE_FAILED_PRECONDITION);
  EXPECT_EQ(instance.explanation, "device 'gpu-0' is not prepared for claim uid-1");
  EXPECT_EQ(pre_start(instance, Claim("uid-1", {{.device = "gpu-99"}})), CAGE_NOT_FOUND);
  prepared(instance, "uid-1", {{.device = "gpu-0"}});
  std::filesystem::remove(folder / "gpu-0@uid-1");
  EXPECT_EQ(pre_start(instance, Claim("uid-1", {{.device = "gpu-0"}})), CAGE_UNAVAILABLE);
  EXPECT_THAT(instance.explanation, HasSubstr("No such file"));
}

TEST(MockQuiesce, PrepareWaitsForResumeAndUnprepareDoesNot) {
  Instance instance(mock(), {});
  const std::string state = prepared(instance, "uid-1", {{.device = "gpu-0"}});
  const Call call;
  ASSERT_EQ(mock()->quiesce(instance.get(), call.get()), CAGE_OK);
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("uid-2", {{.device = "gpu-1"}}), edits), CAGE_UNAVAILABLE);
  EXPECT_EQ(pre_start(instance, Claim("uid-1", {{.device = "gpu-0"}})), CAGE_UNAVAILABLE);
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state)), CAGE_OK);
  EXPECT_EQ(instance.discover()->devices.size(), 8U);
  ASSERT_EQ(mock()->resume(instance.get(), call.get()), CAGE_OK);
  prepared(instance, "uid-2", {{.device = "gpu-1"}});
}

bool holds_open(const std::filesystem::path& folder) {
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // the descriptor of this loop
    if (std::filesystem::read_symlink(fd, closed) == folder) return true;
  }
  return false;
}

TEST(MockQuiesce, HoldsNothingOpenWhileQuiescedAndReleasesNoDevice) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"mount_dir", folder.path().string()}});
  const std::string state = prepared(instance, "uid-1", {{.device = "gpu-0"}});
  const Call call;
  EXPECT_TRUE(holds_open(folder.path()));
  ASSERT_EQ(mock()->quiesce(instance.get(), call.get()), CAGE_OK);
  EXPECT_FALSE(holds_open(folder.path()));
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state)), CAGE_UNAVAILABLE);
  EXPECT_TRUE(std::filesystem::exists(folder / "gpu-0@uid-1"));
  ASSERT_EQ(mock()->resume(instance.get(), call.get()), CAGE_OK);
  EXPECT_EQ(instance.unprepare(Claim("uid-1", {{.device = "gpu-0"}}, state)), CAGE_OK);
  EXPECT_FALSE(std::filesystem::exists(folder / "gpu-0@uid-1"));
}

}  // namespace
}  // namespace cardcage::raw
