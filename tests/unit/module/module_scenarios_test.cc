// Misbehaviour of modules and the host's reactions, in both isolations.
#include "host/config/options.h"
#include "host/config/params.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class ModuleScenarios : public ScenarioFixture {};

INSTANTIATE_TEST_SUITE_P(Isolation, ModuleScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(ModuleScenarios, ALoadedModuleHasAnIdentityBeforeItStarts) {
  const auto loaded = load(config("scripted.so"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const ModuleIdentity& identity = (*loaded)->identity();
  EXPECT_EQ(identity.id, "example.scripted");
  EXPECT_EQ(identity.version, "1.0.0");
  EXPECT_EQ(identity.state_version, 3u);
  EXPECT_THAT(identity.options, SizeIs(2));
  EXPECT_TRUE(identity.has_check && identity.has(Family::kReconcile) && identity.has(Family::kPreferred) &&
              identity.has(Family::kPreStart) && identity.has(Family::kConfigure));
  EXPECT_FALSE(identity.has_quiesce);
}

TEST_P(ModuleScenarios, DevicesArriveSortedAndNamed) {
  ASSERT_TRUE(start_scripted({}));
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot);
  ASSERT_THAT((*snapshot)->devices, SizeIs(2));
  EXPECT_EQ((*snapshot)->devices[0].id, "dev-0");
  EXPECT_EQ((*snapshot)->devices[1].name, "dev-1");
  EXPECT_EQ((*snapshot)->devices[1].attributes.at("model"), AttributeValue(std::string("X1")));
}

TEST_P(ModuleScenarios, AnInvalidDeviceIsLeftOutAndTheOthersStay) {
  ASSERT_TRUE(start_scripted({"discover=bad-device"}));
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot);
  EXPECT_THAT((*snapshot)->devices, SizeIs(2));
  EXPECT_THAT((*snapshot)->left_out, ElementsAre(Pair("dev-2", HasSubstr("attribute"))));
}

TEST_P(ModuleScenarios, PrepareBringsEditsAndStateAndUnprepareGetsTheStateBack) {
  ASSERT_TRUE(start_scripted({"unprepare=tell-state"}));
  const auto prepared = run(module->call(PrepareCall{claim("u1", {"dev-0", "dev-1"})}, soon()));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->state, "u1");
  EXPECT_EQ(prepared->state_version, 3u);
  ASSERT_THAT(prepared->allocations, SizeIs(2));
  EXPECT_THAT(prepared->allocations[1].env, ElementsAre(EnvVar{"DEVICE", "dev-1"}));

  ModuleClaim saved = claim("u1");
  saved.state = prepared->state;
  saved.state_version = prepared->state_version;
  saved.other_boot = true;
  EXPECT_EQ(run(module->call(UnprepareCall{saved}, soon())).error(),
            (Error{Code::kAborted, "module 'm' cannot unprepare: state u1 version 3 other boot 1"}));
}

TEST_P(ModuleScenarios, TellsHowOftenACallWasTriedForAClaim) {
  ASSERT_TRUE(start_scripted({"prepare=third-time"}));
  const auto prepare = [&](const std::string& uid) {
    const auto prepared = run(module->call(PrepareCall{claim(uid)}, soon()));
    return prepared ? "prepared" : prepared.error().message;
  };
  EXPECT_EQ(prepare("u1"), "module 'm' cannot prepare: attempt 1");
  EXPECT_EQ(prepare("u1"), "module 'm' cannot prepare: attempt 2");
  EXPECT_EQ(prepare("u2"), "module 'm' cannot prepare: attempt 1");
  EXPECT_EQ(prepare("u1"), "prepared");
  EXPECT_EQ(prepare("u1"), "module 'm' cannot prepare: attempt 1") << "a new instance";
  EXPECT_EQ(prepare("u2"), "module 'm' cannot prepare: attempt 2");
  EXPECT_TRUE(run(module->call(UnprepareCall{claim("u2")}, soon())));
  EXPECT_EQ(prepare("u2"), "module 'm' cannot prepare: attempt 1");
}

TEST_P(ModuleScenarios, AFailureCarriesTheModulesExplanation) {
  ASSERT_TRUE(start_scripted({"prepare=explain"}));
  EXPECT_EQ(
      run(module->call(PrepareCall{claim("u1")}, soon())).error(),
      (Error{Code::kFailedPrecondition, "module 'm' cannot prepare: the card in slot 3 is too hot\nopen a window"}));
}

TEST_P(ModuleScenarios, AFailureWithoutExplanationSaysSo) {
  ASSERT_TRUE(start_scripted({"discover=silent"}));
  EXPECT_EQ(run(module->call(DiscoverCall{}, soon())).error(),
            (Error{Code::kPermissionDenied,
                   "module 'm' cannot discover: permission denied, and the module does not explain it"}));
}

TEST_P(ModuleScenarios, AnUnknownStatusIsQuoted) {
  ASSERT_TRUE(start_scripted({"reset=number"}));
  EXPECT_EQ(run(module->call(ResetCall{"dev-0"}, soon())).error(),
            (Error{Code::kUnknown, "module 'm' cannot reset: it returned 4711, which is not a status"}));
}

TEST_P(ModuleScenarios, AnInvalidEditFailsThePrepareEvenIfTheModuleIgnoresIt) {
  ASSERT_TRUE(start_scripted({"prepare=bad-edit"}));
  EXPECT_EQ(run(module->call(PrepareCall{claim("u1")}, soon())).error(),
            (Error{Code::kInternal,
                   "module 'm' cannot prepare: it asks for an invalid edit: environment variable '1BAD' is not a name "
                   "of letters, digits and \"_-.\""}));
}

TEST_P(ModuleScenarios, ASinkRefusesUseAfterItsCall) {
  ASSERT_TRUE(start_scripted({"check=late-sink", "check=stranger"}));
  ASSERT_TRUE(run(module->call(DiscoverCall{}, soon())));
  ASSERT_TRUE(run(module->call(PrepareCall{claim("u1")}, soon())));
  EXPECT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot);
  EXPECT_EQ((*snapshot)->find("late"), nullptr);
}

TEST_P(ModuleScenarios, HealthAndRescanReachTheCore) {
  ASSERT_TRUE(start_scripted({"check=news"}));
  ASSERT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
  const auto heard = [&] {
    clock.advance(std::chrono::milliseconds(10));  // between two reports of a module inside the daemon
    return rescans == 1;
  };
  ASSERT_TRUE(eventually(heard));
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].first, "dev-0");
  EXPECT_EQ(reports[0].second,
            (Health{HealthState::kUnhealthy, "TooHot", "93 degrees", seconds(30), TaintEffect::kNoSchedule}));
}

TEST_P(ModuleScenarios, EachCauseOfHealthReachesTheCore) {
  ASSERT_TRUE(start_scripted({"check=causes"}));
  ASSERT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
  const auto heard = [&] {
    clock.advance(std::chrono::milliseconds(10));  // between two reports of a module inside the daemon
    return rescans == 1;
  };
  ASSERT_TRUE(eventually(heard));
  const auto statement = [](const std::string& cause, HealthState state) {
    return std::pair<std::string, Health>("dev-0", {.state = state,
                                                    .taint = TaintEffect::kInform,
                                                    .cause = cause,
                                                    .taint_key = "example.com/health",
                                                    .taint_value = cause});
  };
  EXPECT_THAT(reports, ::testing::UnorderedElementsAre(statement("Ecc", HealthState::kUnhealthy),
                                                       statement("Thermal", HealthState::kHealthy),
                                                       statement("Link", HealthState::kUnmonitored)));
}

TEST_P(ModuleScenarios, AFloodOfCausesLosesNoBadOne) {
  ASSERT_TRUE(start_scripted({"check=causes-flood"}));
  ASSERT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
  const auto heard = [&] {
    clock.advance(std::chrono::milliseconds(10));
    return rescans == 1;
  };
  ASSERT_TRUE(eventually(heard));
  const auto bad = [](const auto& report) { return report.second.state == HealthState::kUnhealthy; };
  ASSERT_EQ(std::ranges::count_if(reports, bad), 1) << "a cause that is not a word is refused";
  EXPECT_EQ(std::ranges::find_if(reports, bad)->second.cause, "Ecc");
}

TEST_P(ModuleScenarios, NewOptionsReachTheRunningInstance) {
  ASSERT_TRUE(start_scripted({"prepare=explain", "configure=explain"}));
  const auto values = [&](const std::vector<std::string>& behave) {
    return *checked_options(config("scripted.so", scripted(behave)), module->identity().options);
  };
  EXPECT_EQ(run(module->call(ConfigureCall{values({})}, soon())).error().message,
            "module 'm' cannot configure: the card in slot 3 is too hot\nopen a window");
  EXPECT_FALSE(run(module->call(PrepareCall{claim("u1")}, soon()))) << "it keeps the old options";
  ASSERT_TRUE(start_scripted({"prepare=explain"}));
  EXPECT_FALSE(run(module->call(PrepareCall{claim("u1")}, soon())));
  EXPECT_TRUE(run(module->call(ConfigureCall{values({})}, soon())));
  EXPECT_TRUE(run(module->call(PrepareCall{claim("u1")}, soon())));
}

TEST_P(ModuleScenarios, ReconcilePassesTheLiveClaims) {
  ASSERT_TRUE(start_scripted({"reconcile=tell"}));
  EXPECT_EQ(run(module->call(ReconcileCall{{claim("u1"), claim("u2")}}, soon())).error().message,
            "module 'm' cannot reconcile: 2 live, first u1");
}

TEST_P(ModuleScenarios, OptionalFunctionsThatAreMissingAreUnimplementedOrFine) {
  ASSERT_TRUE(start("good.so"));
  EXPECT_TRUE(run(module->call(ReconcileCall{{claim("u1")}}, soon())));
  EXPECT_EQ(run(module->call(ConfigureCall{{}}, soon())).error(),
            (Error{Code::kUnimplemented, "module 'm' cannot configure: it has no cage.configure/1"}));
  EXPECT_EQ(run(module->call(ChooseCall{{"dev-0"}, {}, 1}, soon())).error(),
            (Error{Code::kUnimplemented, "module 'm' cannot choose: it has no cage.preferred/1"}));
  EXPECT_EQ(run(module->call(PreStartCall{claim("u1")}, soon())).error(),
            (Error{Code::kUnimplemented, "module 'm' cannot pre_start: it has no cage.pre_start/1"}));
  EXPECT_EQ(run(module->call(ResetCall{"dev-0"}, soon())).error(),
            (Error{Code::kUnimplemented, "module 'm' cannot reset: it has no cage.reset/1"}));
  EXPECT_EQ(run(module->call(CheckCall{{"dev-0"}}, soon())).error().code, Code::kUnimplemented);
  for (const Status& status : {run(module->call(QuiesceCall{}, soon())), run(module->call(ResumeCall{}, soon()))})
    EXPECT_EQ(status.error().code, Code::kUnimplemented);
}

TEST_P(ModuleScenarios, NothingWorksBeforeTheStartOrAfterTheStop) {
  const auto loaded = load(config("scripted.so"));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(run((*loaded)->call(DiscoverCall{}, soon())).error(),
            (Error{Code::kFailedPrecondition, "module 'm' cannot discover: it is not started"}));
  ASSERT_TRUE(start_scripted({}));
  EXPECT_TRUE(run(module->stop(soon())));
  EXPECT_TRUE(run(module->stop(soon())));
  EXPECT_EQ(run(module->call(PrepareCall{claim("u1")}, soon())).error(),
            (Error{Code::kFailedPrecondition, "module 'm' cannot prepare: it is stopped"}));
  EXPECT_EQ(run(module->start({}, soon())).error().message, "module 'm' cannot start: it was started before");
}

TEST_P(ModuleScenarios, AFailedStartSaysWhyAndIsSafeToStop) {
  EXPECT_EQ(start_scripted({"start=explain"}).error().message,
            "module 'm' cannot start: the card in slot 3 is too hot\nopen a window");
  EXPECT_EQ(run(module->call(DiscoverCall{}, soon())).error().message, "module 'm' cannot discover: it did not start");
  EXPECT_TRUE(run(module->stop(soon())));
  module.reset();
  EXPECT_EQ(start_scripted({"create=nothing"}).error(),
            (Error{Code::kInternal, "module 'm' cannot start: create returned OK and no instance [R13]"}));
}

TEST_P(ModuleScenarios, KnowsWhereTheFilesOfTheNodeAre) {
  EXPECT_THAT(start_scripted({"create=roots"}).error().message, HasSubstr("/sys /proc /dev /"));
  roots = {"/node/sys", "/node/proc", "/node/dev", "/run/driver"};
  EXPECT_THAT(start_scripted({"create=roots"}).error().message,
              HasSubstr("/node/sys /node/proc /node/dev /run/driver"));
}

TEST_P(ModuleScenarios, AnUndeclaredValueIsZeroAndHarmless) { EXPECT_TRUE(start_scripted({"create=ask"})); }

TEST_P(ModuleScenarios, ExceptionsEndAtTheModule) {
  ASSERT_TRUE(start("throwing.so"));
  EXPECT_EQ(
      run(module->call(DiscoverCall{}, soon())).error(),
      (Error{Code::kInternal,
             "module 'm' cannot discover: it threw an exception; no exception may leave a module [R9]: no driver"}));
  EXPECT_EQ(run(module->call(PrepareCall{claim("u1")}, soon())).error(),
            (Error{Code::kInternal,
                   "module 'm' cannot prepare: it threw an exception; no exception may leave a module [R9]"}));
  EXPECT_TRUE(run(module->stop(soon())));
}

TEST_P(ModuleScenarios, ACallFailsAtItsDeadlineAndIsCancelled) {
  ASSERT_TRUE(start_scripted({"prepare=patient"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + seconds(3)));
  EXPECT_FALSE(*prepared);
  advance(seconds(3));
  ASSERT_TRUE(*prepared);
  EXPECT_EQ((*prepared)->error(),
            (Error{Code::kDeadlineExceeded, "module 'm' cannot prepare: it did not answer in time"}));
  // The module returned when it was cancelled: the instance still works.
  EXPECT_TRUE(run(module->call(DiscoverCall{}, soon())));
  advance(seconds(60));
  EXPECT_FALSE(lost);
}

TEST_P(ModuleScenarios, NoTimeLeftMeansNoCall) {
  ASSERT_TRUE(start_scripted({}));
  EXPECT_EQ(run(module->call(DiscoverCall{}, clock.now())).error(),
            (Error{Code::kDeadlineExceeded, "module 'm' cannot discover: no time is left for it"}));
}

TEST_P(ModuleScenarios, AStuckCallLosesTheInstanceAndFailsEverythingElseAtOnce) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + seconds(3)));
  const auto impatient = begin(module->call(CheckCall{{"dev-0"}}, clock.now() + seconds(2)));
  const auto queued = begin(module->call(DiscoverCall{}, clock.now() + seconds(60)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(3));
  ASSERT_TRUE(*prepared && *impatient);
  EXPECT_EQ((*prepared)->error().code, Code::kDeadlineExceeded);
  EXPECT_EQ((*impatient)->error().message, "module 'm' cannot check: it had no time for it, being busy with prepare");
  advance(seconds(4));
  EXPECT_FALSE(lost);
  advance(seconds(1));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->code, Code::kUnavailable);
  EXPECT_THAT(lost->message,
              GetParam() == Isolation::kInProcess
                  ? StartsWith("module 'm' is stuck in prepare since 2027-01-15T08:00:00Z: its thread cannot be ended, "
                               "restart the daemon, or set isolation = \"process\" to let the host end the module")
                  : StartsWith("module 'm' was stuck in prepare since 2027-01-15T08:00:00Z: its worker (pid "));
  ASSERT_TRUE(*queued);
  EXPECT_EQ((*queued)->error(), *lost);
  EXPECT_EQ(run(module->call(UnprepareCall{claim("u1")}, soon())).error(), *lost);
  EXPECT_EQ(run(module->stop(soon())).error(), *lost);
}

TEST_P(ModuleScenarios, ALateReturnDoesNotBringAStuckInstanceBack) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + seconds(3)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(3));
  advance(seconds(5));
  ASSERT_TRUE(lost);
  release();
  EXPECT_EQ(run(module->call(DiscoverCall{}, soon())).error().code, Code::kUnavailable);
}

TEST_P(ModuleScenarios, ACallThatReturnsWithinTheGraceKeepsTheInstance) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + seconds(3)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(3));
  ASSERT_TRUE(*prepared);
  release();
  EXPECT_TRUE(run(module->call(DiscoverCall{}, soon())));
  advance(seconds(10));
  EXPECT_FALSE(lost);
}

TEST_P(ModuleScenarios, FinishCallsWaitsUntilNoCallIsOpen) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  EXPECT_TRUE(run(module->finish_calls(soon())));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + seconds(60)));
  ASSERT_TRUE(is_hanging());
  const auto too_soon = begin(module->finish_calls(clock.now() + seconds(1)));
  EXPECT_FALSE(*too_soon);
  advance(seconds(1));
  ASSERT_TRUE(*too_soon);
  EXPECT_EQ((*too_soon)->error(), (Error{Code::kDeadlineExceeded, "module 'm' is still busy with prepare"}));
  const auto finished = begin(module->finish_calls(clock.now() + seconds(30)));
  release();
  ASSERT_TRUE(eventually([&] { return finished->has_value(); }));
  EXPECT_TRUE(**finished);
  EXPECT_TRUE(*prepared);
}

TEST_P(ModuleScenarios, TellsTheCallThatItIsBusyWith) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  EXPECT_FALSE(module->busy());
  const Instant begun = clock.now(), deadline = begun + seconds(3);
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, deadline));
  ASSERT_TRUE(is_hanging());
  const auto waiting = begin(module->call(DiscoverCall{}, deadline));
  advance(seconds(4));
  ASSERT_TRUE(*prepared);
  const auto busy = module->busy();
  ASSERT_TRUE(busy) << "no caller waits any more, but the call still runs";
  EXPECT_EQ(busy->call, "prepare");
  EXPECT_EQ(busy->since, begun);
  EXPECT_EQ(busy->deadline, deadline);
  release();
  EXPECT_TRUE(eventually([&] { return !module->busy(); }));
}

TEST_P(ModuleScenarios, AHangingModuleCanBeDestroyedWithoutWaiting) {
  ASSERT_TRUE(start_scripted({"discover=hang"}));
  {
    const auto discovered = begin(module->call(DiscoverCall{}, clock.now() + seconds(3)));
    ASSERT_TRUE(is_hanging());
    advance(seconds(3));
    ASSERT_TRUE(*discovered);
  }
  module.reset();  // returns while the module hangs
}

TEST_P(ModuleScenarios, CallsOfManyCallersAreAllAnswered) {
  ASSERT_TRUE(start_scripted({}));
  std::vector<std::shared_ptr<std::optional<Result<PreparedEdits>>>> all;
  for (int i = 0; i < 200; ++i) all.push_back(begin(module->call(PrepareCall{claim(fmt::format("u{}", i))}, soon())));
  ASSERT_TRUE(eventually([&] { return std::ranges::all_of(all, [](const auto& one) { return one->has_value(); }); }));
  for (int i = 0; i < 200; ++i) EXPECT_EQ((**all[static_cast<std::size_t>(i)])->state, fmt::format("u{}", i));
}

TEST_P(ModuleScenarios, OptionsAreCheckedBeforeTheModuleSeesThem) {
  const auto refused = load(config("scripted.so", {{"behave", std::string("x")}, {"releas", std::string("y")}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::kInvalidArgument,
                                    "t.toml:10:5: option 'behave' of module 'm' is a string, expected a list of "
                                    "strings\nt.toml:11:5: module 'm' has no option 'releas' (did you mean "
                                    "'release'?)"}));
}

TEST_P(ModuleScenarios, ErrorsAboutDeclarationsNameTheEntry) {
  const auto refused = load(config("bad_names.so"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            fmt::format("module 'm': module file '{}/bad_names.so' is refused: its table: entry 0 of options: name "
                        "'9lives' is not a letter followed by letters, digits and underscores, 32 at most",
                        test_modules().native()));
}

TEST_P(ModuleScenarios, ErrorsAboutFilesNameTheModule) {
  ModuleConfig wanted = config("nothing.so");
  wanted.position = {"cardcage.toml", 12, 1};
  const auto refused = load(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_THAT(refused.error().message,
              ::testing::StartsWith(fmt::format("cardcage.toml:12:1: module 'm': cannot open module file "
                                                "'{}/nothing.so': No such file or directory",
                                                test_modules().native())));
}

// The mock is the first module that users see: it serves the whole life of a claim.
TEST_P(ModuleScenarios, TheMockModuleServesAWholeClaim) {
  modules_dir = built_modules();
  const Status started = start("libcardcage_mock.so", {{"devices", std::vector<std::string>{"gpu:2", "nic:1"}}});
  ASSERT_TRUE(started) << started.error().message;
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  ASSERT_THAT((*snapshot)->devices, SizeIs(3));
  ModuleClaim wanted = claim("u1", {(*snapshot)->devices[0].id});
  wanted.allocations[0].values = *resolve_params(module->identity(), "gpu", {});
  const auto prepared = run(module->call(PrepareCall{wanted}, soon()));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_FALSE(prepared->allocations[0].empty());
  wanted.state = prepared->state;
  wanted.state_version = prepared->state_version;
  EXPECT_TRUE(run(module->call(ReconcileCall{{wanted}}, soon())));
  const Status undone = run(module->call(UnprepareCall{wanted}, soon()));
  EXPECT_TRUE(undone) << undone.error().message;
  EXPECT_TRUE(run(module->stop(soon())));
}

TEST_P(ModuleScenarios, ALoadThatHangsFailsAtItsDeadline) {
  ::setenv("CARDCAGE_TEST_RELEASE", (folder / "release").c_str(), 1);
  const auto loaded = begin(load_file(core, clock, config("slow_constructor.so"), modules_dir, soon()));
  ASSERT_TRUE(is_hanging());
  advance(seconds(10));
  ASSERT_TRUE(eventually([&] { return loaded->has_value(); }));
  EXPECT_EQ((*loaded)->error(),
            (Error{Code::kDeadlineExceeded,
                   "module 'm' is stuck while it is loaded, in a constructor or its entry: they must do no work"}));
}

}  // namespace
}  // namespace cardcage
