// Every rule passes for the mock and fails for a module that breaks it.
#include "host/conformance/check_file.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "host/conformance/rule.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/sanitizers.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Names = std::set<std::string>;

CheckRequest request_of(const std::string& folder, const std::string& file) {
  return {.file = std::filesystem::path(folder) / file};
}
CheckRequest test_module(const std::string& file) { return request_of(test_modules(), file); }
CheckRequest mock() { return request_of(built_modules(), "libcardcage_mock.so"); }

Report check(const CheckRequest& request) {
  auto report = check_file(request);
  EXPECT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->findings.size(), all_rules().size());
  return report ? *report : Report();
}

Names names(const Report& report, Verdict verdict) {
  Names found;
  for (const Finding& finding : report.findings)
    if (finding.outcome.verdict == verdict) found.emplace(finding.name);
  if (kThreadSanitizer) found.erase("load");
  return found;
}

std::string evidence(const Report& report, std::string_view name) {
  const auto found = std::ranges::find(report.findings, name, &Finding::name);
  return found == report.findings.end() ? "no such rule" : found->outcome.evidence;
}

TEST(CheckFileTest, EachRuleNeedsAnEarlierOne) {
  Names earlier{""};
  for (const Rule& rule : all_rules()) {
    EXPECT_TRUE(earlier.contains(std::string(rule.needs))) << rule.name;
    EXPECT_TRUE(earlier.emplace(rule.name).second) << rule.name;
  }
}

TEST(CheckFileTest, TheMockKeepsAllRules) {
  const Report report = check(mock());
  EXPECT_THAT(names(report, Verdict::kFail), IsEmpty());
  EXPECT_EQ(names(report, Verdict::kSkipped),
            (Names{"prepare-each", "events", "attach", "attach-again", "attach-crashed", "attach-released"}));
  ASSERT_TRUE(report.identity);
  EXPECT_EQ(report.identity->id, "dev.cardcage.mock");
  EXPECT_EQ(evidence(report, "discover"), "devices: 8");
}

TEST(CheckFileTest, TheMockHandlesEvents) {
  const Report report = check(request_of(built_modules(), "libcardcage_mock_watch.so"));
  EXPECT_THAT(names(report, Verdict::kFail), IsEmpty());
  EXPECT_EQ(evidence(report, "events"), "beginnings of messages: 1, subsystems: 1");
}

TEST(CheckFileTest, WithoutPrepareTheRulesOfClaimsAreSkipped) {
  const ScratchFolder folder;
  CheckRequest request = mock();
  request.prepare = false;
  request.options["crash"] = {std::string("prepare"), {}};
  const Report report = check(request);
  EXPECT_THAT(names(report, Verdict::kFail), IsEmpty());
  for (const std::string name : {"prepare", "prepare-again", "state-crashed", "quiesce-prepare"})
    EXPECT_EQ(evidence(report, name), "--no-prepare") << name;
}

TEST(CheckFileTest, EveryRulePassesForAConcurrentModule) {
  const Report report = check(request_of(built_modules(), "libcardcage_mock_concurrent.so"));
  EXPECT_THAT(names(report, Verdict::kFail), IsEmpty());
}

TEST(CheckFileTest, AModuleThatNeedsNoPrepareGivesContainersNothing) {
  EXPECT_THAT(names(check(request_of(built_modules(), "libcardcage_mock_no_prepare.so")), Verdict::kFail), IsEmpty());
  const Report report = check(test_module("needless_edits.so"));
  EXPECT_EQ(names(report, Verdict::kFail), Names{"prepare"});
  EXPECT_THAT(evidence(report, "prepare"), HasSubstr("CAGE_MODULE_NO_PREPARE"));
}

TEST(CheckFileTest, AModuleMayKeepAJournalAndRunAllowedPrograms) {
  CheckRequest request = mock();
  request.options["journal"] = {true, {}};
  request.options["exec"] = {std::vector<std::string>{"true"}, {}};
  EXPECT_THAT(names(check(request), Verdict::kFail), ::testing::Contains("prepare")) << "the program is not allowed";
  request.programs = {"/bin/true"};
  EXPECT_THAT(names(check(request), Verdict::kFail), IsEmpty());
}

TEST(CheckFileTest, AModuleMayHaveAService) {
  CheckRequest request = mock();
  request.options["service"] = {std::vector<std::string>{"sleep", "1000"}, {}};
  request.programs = {"/bin/sleep"};
  EXPECT_THAT(names(check(request), Verdict::kFail), IsEmpty());
}

TEST(CheckFileTest, PreparesTheWantedDevice) {
  CheckRequest request = mock();
  request.devices = {"nic-1"};
  const Report one = check(request);
  EXPECT_THAT(evidence(one, "prepare"), HasSubstr("device 'nic-1': variables: "));
  EXPECT_EQ(evidence(one, "prepare-two"), "no second device was named") << "others may be in use";
  request.devices = {"nic-1", "gpu-2"};
  EXPECT_EQ(evidence(check(request), "prepare-two"), "devices 'nic-1' and 'gpu-2'");
  request.devices = {"nic-9"};
  const Report report = check(request);
  EXPECT_THAT(names(report, Verdict::kFail), ::testing::Contains("prepare"));
  EXPECT_EQ(evidence(report, "prepare"), "the module reports no device 'nic-9'");
}

TEST(CheckFileTest, AModuleWithoutDevicesCannotBeCheckedFurther) {
  const Report report = check(test_module("good.so"));
  EXPECT_EQ(names(report, Verdict::kFail), Names{"prepare"}) << "claims were not checked";
  EXPECT_THAT(evidence(report, "prepare"), AllOf(HasSubstr("the module reports no device"), HasSubstr("--no-prepare")));
  EXPECT_EQ(evidence(report, "prepare-again"), "'prepare and unprepare succeed' failed");
  EXPECT_EQ(evidence(report, "quiesce"), "the module has no quiesce");
}

TEST(CheckFileTest, ACrashIsAVerdictWithItsSignalAndTheLastLines) {
  CheckRequest request = test_module("scripted.so");
  request.options["behave"] = {std::vector<std::string>{"discover=crash"}, {}};
  const Report report = check(request);
  EXPECT_EQ(names(report, Verdict::kFail), Names{"discover"});
  EXPECT_THAT(evidence(report, "discover"),
              HasSubstr("killed by signal 11 (Segmentation fault); it printed last: 'about to read register 0x10'"));
  EXPECT_EQ(evidence(report, "output"), "'discover succeeds' failed");
}

TEST(CheckFileTest, AHangIsAVerdict) {
  CheckRequest request = mock();
  request.limit = std::chrono::milliseconds(500);
  request.options["hang"] = {std::string("prepare"), {}};
  const Report report = check(request);
  EXPECT_EQ(names(report, Verdict::kFail), Names{"prepare"});
  EXPECT_THAT(evidence(report, "prepare"), HasSubstr("cannot prepare: it did not answer in time"));
}

TEST(CheckFileTest, AnOptionThatTheModuleDoesNotHaveIsNamed) {
  CheckRequest request = mock();
  request.options["devicse"] = {std::string("x"), {}};
  const Report report = check(request);
  EXPECT_EQ(names(report, Verdict::kFail), Names{"table"});
  EXPECT_THAT(evidence(report, "table"), AllOf(HasSubstr("--option: "), HasSubstr("'devices'")));
}

TEST(CheckFileTest, AModuleThatNeedsItsOwnProcessMayChangeIt) {
  CheckRequest request = test_module("loud_process_only.so");
  request.prepare = false;  // it has no device
  const Report report = check(request);
  EXPECT_THAT(names(report, Verdict::kFail), IsEmpty());
  EXPECT_EQ(evidence(report, "output"), "CAGE_MODULE_PROCESS_ONLY allows it: it printed 'hello'");
}

TEST(CheckFileTest, PreparesEachOfSeveralDevices) {
  CheckRequest request = mock();
  request.devices = {"nic-1", "gpu-2", "nic-0"};
  const Report named = check(request);
  EXPECT_THAT(names(named, Verdict::kFail), IsEmpty());
  EXPECT_EQ(evidence(named, "prepare-each"), "devices: 3");
  EXPECT_THAT(evidence(named, "allocate"), AllOf(HasSubstr("device 'nic-1': "), HasSubstr("; device 'nic-0': ")));
  request.devices.clear();
  request.all_devices = true;
  EXPECT_EQ(evidence(check(request), "prepare-each"), "devices: 8");
  request = test_module("rule_breaker.so");
  request.all_devices = true;
  request.options["break"] = {std::string("prepare-each"), {}};
  const Report broken = check(request);
  EXPECT_EQ(evidence(broken, "prepare-each"),
            "device 'dev-1': module 'rule_breaker' cannot prepare: no power on the second");
  EXPECT_EQ(names(broken, Verdict::kFail), (Names{"prepare-each", "allocate"}));
}

TEST(CheckFileTest, AModuleMayServeItsDevicesWithDraAlone) {
  CheckRequest request = test_module("rule_breaker.so");
  request.options["break"] = {std::string("dra-only"), {}};
  request.rules = {"allocate"};
  const auto report = check_file(request);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(names(*report, Verdict::kFail), IsEmpty());
  EXPECT_THAT(evidence(*report, "allocate"), HasSubstr("the module refuses it: "));
}

// For debuggers and sanitizers.
TEST(CheckFileTest, AModuleRunsInThisProcess) {
  CheckRequest request = mock();
  request.in_process = true;
  std::vector<std::string> begun;
  request.begins = [&begun](std::string_view, std::string_view name, std::string_view) { begun.emplace_back(name); };
  const Report report = check(request);
  EXPECT_THAT(names(report, Verdict::kFail), IsEmpty());
  EXPECT_EQ(begun.size(), all_rules().size());
  for (const std::string name : {"load", "state-crashed", "threads", "descriptors", "output"})
    EXPECT_THAT(evidence(report, name), HasSubstr("--in-process")) << name;
  EXPECT_THAT(names(report, Verdict::kPass), ::testing::IsSupersetOf({"prepare-two", "beside", "quiesce", "life"}));
  request = test_module("loud_process_only.so");
  request.in_process = true;
  request.prepare = false;  // it has no device
  EXPECT_THAT(names(check(request), Verdict::kFail), IsEmpty()) << "it shares the process with no other module";
  request = test_module("rule_breaker.so");
  request.in_process = true;
  request.options["break"] = {std::string("devices"), {}};
  EXPECT_EQ(names(check(request), Verdict::kFail), Names{"devices"});
}

// valgrind reads the symbols of a mapped file by its name.
TEST(CheckFileTest, AModuleInThisProcessIsAFileWithItsName) {
  CheckRequest request = test_module("good.so");
  request.in_process = true;
  request.rules = {"discover"};
  std::set<std::string> mapped;
  request.begins = [&mapped](std::string_view, std::string_view, std::string_view) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (const auto path = line.find('/'); line.ends_with("/good.so")) mapped.insert(line.substr(path));
  };
  ASSERT_TRUE(check_file(request));
  EXPECT_THAT(mapped, AllOf(Not(IsEmpty()), Each(HasSubstr("/cardcage-check-"))));
}

struct Refused {
  std::string file, rule, evidence;
};
void PrintTo(const Refused& about, std::ostream* out) { *out << about.file; }
class RefusedFileTest : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedFileTest, FailsTheRuleThatItBreaks) {
  const auto& [file, rule, text] = GetParam();
  CheckRequest request = test_module(file);
  request.prepare = false;  // they have no devices
  const Report report = check(request);
  EXPECT_EQ(names(report, Verdict::kFail), Names{rule});
  EXPECT_THAT(evidence(report, rule), HasSubstr(text));
}

INSTANTIATE_TEST_SUITE_P(Files, RefusedFileTest,
                         ::testing::Values(Refused{"no_entry.so", "file", "cage_module_v1"},
                                           Refused{"other_major.so", "file", "major"},
                                           Refused{"../build.ninja", "file", "it is not an ELF file"},
                                           Refused{"same_class_1.so", "exports", "it also exports"},
                                           Refused{"null_table.so", "table", "returned no table"},
                                           Refused{"../tests/unit/module/kept/0.2/card_c.so", "table", "rebuild it"},
                                           Refused{"newer_libstdcxx.so", "table", "a newer libstdc++"},
                                           Refused{"short_table.so", "table", "as in module ABI 1.0"},
                                           Refused{"future_needs.so", "table", "it needs the family cage.future/1"},
                                           Refused{"future_flags.so", "table", "unknown flags 0x40000000"},
                                           Refused{"future_host.so", "table", "module ABI 1.7 or later"},
                                           Refused{"contradicting_schema.so", "table", "rename one of them"},
                                           Refused{"foreign_function.so", "table", "[R1]"},
                                           Refused{"undefined_symbol.so", "table", "cannot load module file"}),
                         [](const auto& about) {
                           std::string name = about.param.file;
                           std::erase_if(name, [](unsigned char c) { return !std::isalnum(c); });
                           return name;
                         });

TEST(CheckFileTest, AThreadThatStartsWhenTheFileIsLoadedIsABreach) {
  if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer starts a thread of its own";
  CheckRequest request = test_module("early_thread.so");
  request.prepare = false;  // it has no device
  const Report report = check(request);
  EXPECT_EQ(names(report, Verdict::kFail), Names{"load"});
  EXPECT_THAT(evidence(report, "load"), HasSubstr("3 threads run before create"));
}

Report check_breach(const std::string& name) {
  CheckRequest request = test_module("rule_breaker.so");
  request.options["break"] = {name, {}};
  return check(request);
}

TEST(CheckFileTest, AChildThatHasEndedIsABreach) {
  const Report report = check_breach("ended-process");
  EXPECT_EQ(names(report, Verdict::kFail), Names{"processes"});
  EXPECT_EQ(evidence(report, "processes"), "a child process, which has ended");
}

// Breaches that the host logs, and for which there is no check.
TEST(CheckFileTest, WhatTheHostLogsIsABreach) {
  const std::pair<std::string, std::string> breaches[] = {
      {"sink-thread", "use of a sink refused: its call has ended, or this is another thread"},
      {"value-name", "did not declare with this name and type name=speed type=string [R19]"},
      {"value-type", "did not declare with this name and type name=break type=integer [R19]"},
      {"value-given", "did not declare with this name and type name=speed type=any [R19]"},
      {"value-unit", "value of a statement is ignored: the module declares no unit for the cause cause=Ecc [R23]"},
      {"health-id", "health report is ignored: "},
      {"log-flood", "module logs too much; lines are left out"}};
  for (const auto& [name, text] : breaches) {
    const Report report = check_breach(name);
    EXPECT_EQ(names(report, Verdict::kFail), Names{"log"}) << name;
    EXPECT_THAT(evidence(report, "log"), HasSubstr(text)) << name;
  }
}

TEST(CheckFileTest, ChoicesWithoutACountAreABreach) {
  CheckRequest request = test_module("uncounted_choices.so");
  request.prepare = false;
  const Report report = check(request);
  EXPECT_EQ(names(report, Verdict::kFail), Names{"log"});
  EXPECT_EQ(evidence(report, "log"), "'mode' has choices and a count of 0, so the host sees none of them [R2]");
}

TEST(CheckFileTest, ABreachThatACheckHasFoundIsNotReportedAgain) {
  const Report report = check_breach("devices");
  EXPECT_EQ(names(report, Verdict::kFail), Names{"devices"});
  EXPECT_THAT(report.logged, Each(HasSubstr("device is left out: ")));
}

TEST(CheckFileTest, ChecksTheWantedRulesAndThoseThatTheyNeed) {
  CheckRequest request = mock();
  request.rules = {"R24", "labels"};
  const auto report = check_file(request);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(names(*report, Verdict::kPass),
            (Names{"file", "table", "start", "discover", "labels", "prepare", "reset", "log"}));
  EXPECT_EQ(report->findings.size(), 8U);
}

TEST(CheckFileTest, AnEntryThatIsRefusedWithoutAReasonIsABreach) {
  CheckRequest request = test_module("rule_breaker.so");
  request.options["break"] = {std::string("catalogue-reason"), {}};
  const Report report = check(request);
  EXPECT_EQ(names(report, Verdict::kFail), Names{"catalogue"});
  EXPECT_EQ(evidence(report, "catalogue"), "bitstream 'aes' is refused and not explained");
}

struct Breach {
  std::string rule, evidence;
  Names others;  // rules that fail with it
};
void PrintTo(const Breach& about, std::ostream* out) { *out << about.rule; }
class BrokenRuleTest : public ::testing::TestWithParam<Breach> {};

TEST_P(BrokenRuleTest, IsFound) {
  if (GetParam().rule.starts_with("attach") && ::geteuid() != 0) GTEST_SKIP() << "only root makes the network of a pod";
  const ScratchFolder folder;
  CheckRequest request = test_module("rule_breaker.so");
  request.options["break"] = {GetParam().rule, {}};
  request.options["file"] = {(folder / "shared").native(), {}};
  const Report report = check(request);
  Names expected = GetParam().others;
  expected.insert(GetParam().rule);
  EXPECT_EQ(names(report, Verdict::kFail), expected);
  EXPECT_THAT(evidence(report, GetParam().rule), HasSubstr(GetParam().evidence));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenRuleTest,
    ::testing::Values(
        Breach{"start", "the driver is not loaded", {}},
        Breach{"stop",
               "a thread does not end",
               {"discover-restarted", "start-again", "prepare-restarted", "state-restarted", "beside", "life"}},
        Breach{"start-again", "it ran before", {}}, Breach{"prepare-failed", "another claim holds the device", {}},
        Breach{"metrics", "of device 'dev-7', which discover does not report", {}},
        Breach{"labels", "node label 'kubernetes.io/role': ", {}}, Breach{"beside", "another instance runs", {}},
        Breach{"catalogue", "catalogue entry 'aes': another bitstream", {}},
        Breach{"events", "nothing may be lost", {}},
        Breach{"causes", "device 'dev-0' has the cause 'Fan', which is not declared", {}},
        Breach{"reset", "cause 'Link' of device 'dev-0' is not stated again", {}}, Breach{"discover", "bus error", {}},
        Breach{"devices", "device 'not an id' is left out", {}},
        Breach{"discover-again", "device 'dev-0' has other attributes", {"resume"}},
        Breach{"discover-restarted", "device 'dev-0' has other attributes", {}},
        Breach{"discover-deadline", "is still busy with discover", {}}, Breach{"prepare", "no power", {}},
        Breach{"params", "with OtherConfig: ", {}}, Breach{"prepare-again", "the container gets other variables", {}},
        Breach{"prepare-restarted", "the container gets other variables", {}},
        Breach{"prepare-after", "the same claim", {"pre-start"}},
        Breach{"prefer", "the choice lacks the required device: 'gpu' of 2 with 'dev-1' required: dev-0", {}},
        Breach{"allocate", "no names", {"pre-start"}}, Breach{"prepare-deadline", "is still busy with prepare", {}},
        Breach{"unprepare-again", "the claim was released", {"prepare-after"}},
        Breach{"unprepare-unknown",
               "the claim is unknown",
               {"unprepare-gone", "state-restarted", "state-crashed", "quiesce-prepare"}},
        Breach{"unprepare-gone", "no such device", {}}, Breach{"state-crashed", "the state is lost", {}},
        Breach{"pre-start", "it was reset before", {}}, Breach{"explain", "the module does not explain it", {}},
        Breach{"quiesce", "/sys/devices/system/cpu/online", {}}, Breach{"quiesce-prepare", "prepare succeeds", {}},
        Breach{"quiesce-device", "prepare succeeds", {}}, Breach{"resume", "device 'dev-0' has other attributes", {}},
        Breach{"attach", "no cable", {}}, Breach{"attach-again", "attach succeeds for another pod, too", {}},
        Breach{"attach-crashed", "detach, a second time: ", {}}, Breach{"attach-released", "a pod has it", {}},
        Breach{"threads", "thread '", {}}, Breach{"descriptors", "(/dev/null)", {}},
        Breach{"thread-signals", "thread '", {}}, Breach{"cloexec", "(/dev/null)", {}},
        Breach{"processes", "child processes: 1", {}},
        Breach{"prepare-two", "the environment variable 'NUMBER' the values '0' and 'another'", {}},
        Breach{"health", "the health of device 'dev-9'", {}}, Breach{"settings", "the handling of SIGUSR2", {}},
        Breach{"output", "it printed 'hello'", {}}),
    [](const auto& about) {
      std::string name = about.param.rule;
      std::ranges::replace(name, '-', '_');
      return name;
    });

}  // namespace
}  // namespace cardcage
