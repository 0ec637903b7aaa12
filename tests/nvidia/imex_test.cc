// IMEX channels: the module libcardcage_imex.so on a node whose administrator runs the IMEX daemon. Its parameters are
// judged as NVIDIA's driver does: ComputeDomainChannelConfig of resource.nvidia.com/v1beta1.
#include <cstring>
#include <fstream>

#include "host/core/file.h"
#include "sim/nvml/fake_gpus.h"
#include "tests/common/hardware_fixture.h"
#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kDomain = R"("domainID":"0f1c2e7a-5d6b-4c3e-9a51-6f8d2b7c9e10")";
constexpr const char* kConfig = "ComputeDomainChannelConfig";

class ImexModule : public HardwareFixture {
 protected:
  ImexModule() : HardwareFixture("resource.nvidia.com/v1beta1") { modules_dir = built_modules(); }
  ~ImexModule() override { let_go(); }

  // A node whose GPUs belong to these cliques.
  void lay_out(const std::vector<unsigned>& cliques = {7, 7}) {
    gpus = std::make_unique<FakeGpus>(folder / "node",
                                      FakeNode{.product = "h100", .gpus = static_cast<int>(cliques.size())});
    for (std::size_t gpu = 0; gpu < cliques.size(); ++gpu) gpus->join_fabric(static_cast<int>(gpu), cliques[gpu]);
    gpus->run_imex("READY");
  }
  Status start_imex(Options options = {}) {
    let_go();
    roots = {.sysfs = gpus->sysfs(),
             .procfs = gpus->procfs(),
             .devfs = gpus->devfs(),
             .driver = gpus->driver_root(),
             .driver_on_node = {}};
    options.emplace("health_interval", std::string("1ms"));
    ModuleConfig wanted = config("libcardcage_imex.so", options);
    if (may_ask) wanted.programs = {gpus->driver_root() / "usr/bin/nvidia-imex-ctl"};
    return start_module(wanted);
  }
  ModuleClaim channel_claim(const std::string& params = kDomain, const std::string& uid = "u1") {
    return claim_of(uid, {"channel-0"}, params, kConfig);
  }
  // The reason why the channel is not offered.
  std::string why_not_offered() {
    const SnapshotPtr snapshot = discover();
    EXPECT_THAT(snapshot->devices, IsEmpty());
    EXPECT_EQ(snapshot->not_offered.size(), 1u);
    return snapshot->not_offered.empty() ? "" : snapshot->not_offered.begin()->second;
  }
  // Prepares with a deadline that leaves the daemon about a second.
  Result<PreparedEdits> prepare_briefly(ModuleClaim& wanted) {
    return kept(run(preparing(wanted, clock.now() + 2s)), wanted);
  }
  // Whether the waiting prepare of claim u1 shows this progress. Fake time follows real time meanwhile: the module
  // reports progress at intervals, and the host gives its program some seconds.
  bool shows_progress(const std::string& text) {
    set_pace();
    return eventually([&] {
      keep_pace();
      const auto progress = module->progress("u1");
      return progress && progress->text == text;
    });
  }
  // The last statement about the channel after a look at the daemon.
  Health look() {
    reports.clear();
    pass_ticks(1);
    Health last;
    EXPECT_TRUE(eventually([&] {
      let_news_pass();
      if (reports.empty()) return false;
      EXPECT_EQ(reports.back().first, "channel-0");
      last = reports.back().second;
      return true;
    })) << "nothing about the channel";
    return last;
  }
  // Replaces the line of /proc/devices with the number of the channels.
  void set_channel_line(const char* line) {
    const fs::path devices = gpus->procfs() / "devices";
    std::string text = read_file(devices, 10'000).value();
    constexpr const char* kLine = "236 nvidia-caps-imex-channels\n";
    text.replace(text.find(kLine), std::strlen(kLine), line);
    std::ofstream(devices) << text;
  }
  void drop_channel_major() { set_channel_line(""); }

  std::unique_ptr<FakeGpus> gpus;
  bool may_ask = true;  // the configuration allows nvidia-imex-ctl
};

INSTANTIATE_TEST_SUITE_P(Isolation, ImexModule, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(ImexModule, OffersChannel0WithTheAttributesOfNvidiasDriver) {
  lay_out();
  ASSERT_TRUE(start_imex());
  const Device channel = device("channel-0");
  EXPECT_EQ(channel.kind, "channel");
  EXPECT_EQ(channel.health.state, HealthState::kHealthy);
  EXPECT_THAT(attributes_of(channel),
              UnorderedElementsAre("type=channel", "id=0",
                                   "nvidia.cardcage.dev/clique=abababab-abab-abab-abab-abababababab.7"));
}

TEST_P(ImexModule, OffersNoChannelWhereItWouldNotWork) {
  lay_out({7, 8});
  ASSERT_TRUE(start_imex());
  EXPECT_THAT(why_not_offered(), AllOf(HasSubstr("different NVLink cliques"), HasSubstr(".7"), HasSubstr(".8")));
  gpus->set_fabric(0, nvml::kFabricNotSupported);
  gpus->set_fabric(1, nvml::kFabricNotSupported);
  EXPECT_THAT(why_not_offered(), HasSubstr("no NVLink fabric of several nodes"));
  gpus->join_fabric(0, 7);
  EXPECT_EQ(names(), std::vector<std::string>{"channel-0"}) << "a GPU without a fabric hides no other";
  drop_channel_major();
  EXPECT_THAT(why_not_offered(), HasSubstr("NVreg_ImexChannelCount"));
  gpus->unload_driver();
  EXPECT_THAT(why_not_offered(), HasSubstr("kernel module is not loaded"));
}

TEST_P(ImexModule, LooksAgainUntilTheGpusHaveJoinedTheirFabric) {
  lay_out({7});
  gpus->set_fabric(0, nvml::kFabricInProgress);
  ASSERT_TRUE(start_imex());
  EXPECT_THAT(why_not_offered(), HasSubstr("have not joined their NVLink fabric yet"));
  rescans = 0;
  pass_ticks(6);
  EXPECT_TRUE(eventually([&] {
    let_news_pass();
    return rescans > 0;
  }));
  gpus->join_fabric(0, 7);
  EXPECT_EQ(names(), std::vector<std::string>{"channel-0"});
}

TEST_P(ImexModule, AClaimGetsTheNodeOfTheChannel) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim wanted = channel_claim();
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->allocations.size(), 1u);
  const Edits& channel = edits->allocations.front();
  EXPECT_THAT(nodes_of(channel), ElementsAre("c 236:0 /dev/nvidia-caps-imex-channels/channel0"));
  EXPECT_EQ(channel.device_nodes.front().file_mode, 0666u);
  EXPECT_FALSE(fs::exists(gpus->devfs() / "nvidia-caps-imex-channels")) << "the node needs none of its own";
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(ImexModule, AClaimGetsTheNumberThatTheKernelModuleHasNow) {
  lay_out();
  ASSERT_TRUE(start_imex());
  set_channel_line("241 nvidia-caps-imex-channels\n");  // it was loaded again
  ModuleClaim wanted = channel_claim();
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(nodes_of(edits->allocations.front()), ElementsAre("c 241:0 /dev/nvidia-caps-imex-channels/channel0"));
}

TEST_P(ImexModule, ModeAllMeansTheSameChannel) {
  lay_out();
  ASSERT_TRUE(start_imex());
  for (const char* mode : {"Single", "All"}) {
    ModuleClaim wanted = channel_claim(fmt::format(R"({},"allocationMode":"{}")", kDomain, mode));
    const auto edits = prepare(wanted);
    ASSERT_TRUE(edits) << edits.error().message;
    EXPECT_THAT(nodes_of(edits->allocations.front()), ElementsAre("c 236:0 /dev/nvidia-caps-imex-channels/channel0"));
  }
}

// The scheduler gives a channel to one claim of a node; the module does not depend on that.
TEST_P(ImexModule, TwoClaimsOfADomainGetTheSameChannel) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim first = channel_claim(kDomain, "u1"), second = channel_claim(kDomain, "u2");
  const auto edits = prepare(first), more = prepare(second);
  ASSERT_TRUE(edits && more);
  EXPECT_EQ(*edits, *more);
  EXPECT_TRUE(unprepare(first));
  const auto repeated = prepare(second);
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_EQ(*repeated, *more);
}

TEST_P(ImexModule, RefusesParametersThatNvidiasDriverRefuses) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim without = claim_of("u1", {"channel-0"}, "", kConfig);
  auto edits = prepare(without);
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().code, Code::kInvalidArgument);
  EXPECT_THAT(edits.error().message, AllOf(HasSubstr("request 'main'"), HasSubstr("domainID cannot be empty")));
  for (const std::string id :
       {".", "..", "foo/bar", "/etc/passwd", "../../../escape-target/pwn", "-a", "a_", "a b", "ä"}) {
    ModuleClaim wanted = channel_claim(fmt::format(R"("domainID":"{}")", id));
    edits = prepare(wanted);
    ASSERT_FALSE(edits) << id;
    EXPECT_EQ(edits.error().code, Code::kInvalidArgument) << id;
    EXPECT_THAT(edits.error().message, HasSubstr("domainID '" + id + "' must be the UID of a ComputeDomain"));
  }
  ModuleClaim longest = channel_claim(fmt::format(R"("domainID":"{}")", std::string(63, 'a')));
  EXPECT_TRUE(prepare(longest));
  ModuleClaim longer = channel_claim(fmt::format(R"("domainID":"{}")", std::string(64, 'a')));
  EXPECT_FALSE(prepare(longer));
}

TEST_P(ImexModule, RefusesParametersThatItDoesNotDeclare) {
  lay_out();
  ASSERT_TRUE(start_imex());
  const auto refusal = [&](const std::string& kind, const std::string& more) {
    const auto read = decode_params(
        module->identity(), ConfigSource::kClaim,
        fmt::format(R"({{"apiVersion":"resource.nvidia.com/v1beta1","kind":"{}",{}{}}})", kind, kDomain, more));
    if (!read) return read.error().message;
    const auto values = resolve_params(module->identity(), "channel", {*read});
    EXPECT_FALSE(values) << kind << more;
    return values ? std::string() : values.error().message;
  };
  EXPECT_THAT(refusal("ComputeDomainDaemonConfig", ""), HasSubstr("ComputeDomainDaemonConfig"));
  EXPECT_THAT(refusal(kConfig, R"(,"allocationMode":"Some")"), HasSubstr("allocationMode"));
  EXPECT_THAT(refusal(kConfig, R"(,"channel":3)"), HasSubstr("channel"));
}

TEST_P(ImexModule, PrepareFailsWithoutChannelsOfTheKernel) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim wanted = channel_claim();
  drop_channel_major();
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(edits.error().message, HasSubstr("/proc/devices does not list nvidia-caps-imex-channels"));
}

TEST_P(ImexModule, PrepareWaitsForTheDaemonAndTellsItsState) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim wanted = channel_claim();
  gpus->run_imex("WAITING_FOR_PEERS");
  const auto result = begin(preparing(wanted, later()));
  EXPECT_TRUE(shows_progress("the IMEX daemon of the node is not ready: WAITING_FOR_PEERS"));
  EXPECT_FALSE(result->has_value());
  gpus->run_imex("READY");
  ASSERT_TRUE(eventually([&] { return result->has_value(); }));
  ASSERT_TRUE(**result) << (**result).error().message;
  EXPECT_THAT(nodes_of((**result)->allocations.front()), ElementsAre(HasSubstr("channel0")));
}

TEST_P(ImexModule, AClaimThatWaitsDelaysNoOtherCall) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim wanted = channel_claim();
  gpus->run_imex("INIT_GPU");
  const auto result = begin(preparing(wanted, later()));
  EXPECT_TRUE(shows_progress("the IMEX daemon of the node is not ready: INIT_GPU"));
  EXPECT_EQ(look().state, HealthState::kUnhealthy);
  EXPECT_EQ(names(), std::vector<std::string>{"channel-0"});
  gpus->run_imex("READY");
  EXPECT_TRUE(eventually([&] { return result->has_value(); }));
}

TEST_P(ImexModule, PrepareFailsWithTheStateBeforeItsDeadline) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim wanted = channel_claim();
  gpus->run_imex("WAITING_FOR_RECOVERY");
  auto edits = prepare_briefly(wanted);
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().code, Code::kUnavailable) << "the kubelet tries again";
  EXPECT_THAT(edits.error().message, HasSubstr("is not ready: WAITING_FOR_RECOVERY; see the service nvidia-imex"));
  gpus->end_imex();
  edits = prepare_briefly(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("nvidia-imex-ctl -q: Could not connect to the IMEX daemon"));
}

TEST_P(ImexModule, PrepareNamesAProgramThatIsNotAllowed) {
  lay_out();
  may_ask = false;
  ASSERT_TRUE(start_imex());
  EXPECT_EQ(device("channel-0").health.reason, "NoImexDaemon");
  ModuleClaim wanted = channel_claim();
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_NE(edits.error().code, Code::kUnavailable) << "waiting does not help";
  EXPECT_THAT(edits.error().message, HasSubstr("nvidia-imex-ctl"));
}

TEST_P(ImexModule, AsksAtTheSocketOfTheOption) {
  lay_out();
  ASSERT_TRUE(start_imex({{"control_socket", std::string("/run/imex.sock")}}));
  discover();
  const std::string socket = " --u=" + (gpus->driver_root() / "run/imex.sock").native() + "\n";
  EXPECT_THAT(gpus->imex_log(), AllOf(HasSubstr("-q" + socket), HasSubstr("-N -j" + socket)));
  ASSERT_TRUE(start_imex());
  discover();
  EXPECT_THAT(gpus->imex_log(), HasSubstr("-q\n-N -j\n"));
}

TEST_P(ImexModule, StatesTheDaemonAndItsDomainAsACause) {
  lay_out();
  ASSERT_TRUE(start_imex());
  discover();
  Health health = look();
  EXPECT_EQ(health.cause, "Imex");
  EXPECT_EQ(health.state, HealthState::kHealthy);

  gpus->run_imex("SHUTTING_DOWN");
  health = look();
  EXPECT_EQ(health.state, HealthState::kUnhealthy);
  EXPECT_EQ(health.reason, "ImexNotReady");
  EXPECT_EQ(health.message, "the IMEX daemon of the node is SHUTTING_DOWN");
  EXPECT_EQ(health.taint_value, "SHUTTING_DOWN");
  gpus->end_imex();
  health = look();
  EXPECT_EQ(health.reason, "NoImexDaemon");
  EXPECT_EQ(health.taint_value, "UNAVAILABLE");
  gpus->run_imex("READY");
  EXPECT_EQ(look().state, HealthState::kHealthy) << "it was started again";

  gpus->run_imex("READY", "DEGRADED");
  health = look();
  EXPECT_EQ(health.state, HealthState::kDegraded);
  EXPECT_EQ(health.reason, "ImexDomainDegraded");
  EXPECT_EQ(health.taint, TaintEffect::kInform) << "the peers that are left reach each other";
  gpus->run_imex("READY", "DOWN");
  health = look();
  EXPECT_EQ(health.state, HealthState::kUnhealthy);
  EXPECT_EQ(health.reason, "ImexDomainDown");
}

TEST_P(ImexModule, DeclaresTheCauseWithAnEffectAndTimeForARestart) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ASSERT_EQ(module->identity().causes.size(), 1u);
  const CauseDeclaration& cause = module->identity().causes.front();
  EXPECT_EQ(cause.name, "Imex");
  EXPECT_EQ(cause.taint.key, "compute-domain.nvidia.com/imex");
  EXPECT_EQ(cause.hold_down, 20s);
}

// A pod keeps its channel while the daemon is away: the file stays open, and IMEX recovers by itself.
TEST_P(ImexModule, AClaimInUseIsPreparedAgainWithoutTheDaemon) {
  lay_out();
  ASSERT_TRUE(start_imex());
  ModuleClaim wanted = channel_claim();
  const auto before = prepare(wanted);
  ASSERT_TRUE(before) << before.error().message;
  gpus->end_imex();
  ASSERT_TRUE(start_imex());
  const auto after = prepare(wanted);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(*before, *after);
  EXPECT_TRUE(unprepare(wanted)) << "nothing is left to undo";
}

TEST_P(ImexModule, OtherOutputOfTheProgramIsNoState) {
  lay_out();
  ASSERT_TRUE(start_imex());
  discover();
  for (const char* text : {"", "READY now", "ready", "READY\nREADY", "<script>"}) {
    gpus->run_imex(text);
    EXPECT_EQ(look().reason, "NoImexDaemon") << text;
  }
  gpus->run_imex("READY", R"(","more":[[[)");
  EXPECT_EQ(look().state, HealthState::kHealthy) << "the domain is not known, the daemon is";
}

}  // namespace
}  // namespace cardcage
