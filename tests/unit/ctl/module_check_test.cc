// cagectl module check: output, exit codes, and errors for a bad command line.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <filesystem>
#include <fstream>
#include <regex>

#include "sim/scratch_folder.h"
#include "tests/fakes/bad_modules.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/sanitizers.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kMock = built_module("mock");
const std::string kRuleBreaker = test_modules() / "rule_breaker.so";
const std::string kScripted = test_modules() / "scripted.so";

Ended check(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"module", "check"});
  return run_cagectl(arguments);
}

// Removes text that depends on the build: the folder and the digest of the file, the host's ABI, the options of the
// mock.
std::string without_build(std::string text) {
  text = std::regex_replace(text, std::regex("ABI .*, options: [0-9]+, parameters: [0-9]+( of . kinds)?"),
                            "ABI 1.0, options: 24, parameters: 3");
  text = std::regex_replace(text, std::regex("[0-9a-f]{64}"), "2c26b46b68ff");
  return std::regex_replace(text, std::regex("\"/[^\"]*/"), "\"/opt/acme/");
}

class ModuleCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer starts a thread of its own";
  }
};

TEST_F(ModuleCheckTest, ReportsMatchTheGoldenFiles) {
  const Ended passing = check({kMock});
  EXPECT_EQ(passing.code, 0) << passing.err;
  EXPECT_EQ(passing.err, "");
  expect_golden("module_check.txt", without_build(passing.out));
  const Ended failing = check({kRuleBreaker, "--option", "break=devices", "--no-prepare"});
  EXPECT_EQ(failing.code, 1);
  EXPECT_EQ(failing.err, "cagectl: module file '" + kRuleBreaker + "' fails 1 check: see abi/RULES.md\n");
  expect_golden("module_check_fails.txt", without_build(failing.out));
  const Ended json = check({kRuleBreaker, "--option", "break=devices", "--no-prepare", "--json"});
  EXPECT_EQ(json.code, 1);
  expect_golden("module_check.json", without_build(json.out));
}

TEST_F(ModuleCheckTest, TakesOptionsAsInToml) {
  const Ended ended = check({kMock, "--option", R"(devices=["gpu:3"])", "--option", "seed=\"42\"", "--option",
                             "shared=true", "--option", "sockets=1", "--option", "gpu_model=H100 80GB"});
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("devices: 3"), HasSubstr("device 'gpu-0'")));
}

TEST_F(ModuleCheckTest, ShowsWhatOneAsksFor) {
  const Ended failed = check({kRuleBreaker, "--option", "break=value-name", "--no-prepare", "--only-failed"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.out, AllOf(HasSubstr("fail     the host logs no other breach"), HasSubstr("[R19]"),
                                testing::Not(HasSubstr(" pass "))));
  const Ended passed = check({kMock, "--rule", "R17", "--only-failed"});
  EXPECT_EQ(passed.code, 0) << passed.out;
  EXPECT_THAT(passed.out,
              testing::MatchesRegex("libcardcage_mock.so: dev.cardcage.mock [^\n]*\n7 passed, 0 failed, 0 skipped\n"));
}

TEST_F(ModuleCheckTest, WritesAReportForCiSystems) {
  const ScratchFolder folder;
  const std::string file = folder / "report.xml";
  const Ended ended =
      check({kMock, "--rule", "R14", "--option", "hang=prepare", "--timeout", "300ms", "--junit", file});
  EXPECT_EQ(ended.code, 1) << ended.err;
  std::ifstream text(file);
  boost::property_tree::ptree report;
  boost::property_tree::read_xml(text, report);
  const auto& suite = report.get_child("testsuite");
  std::size_t tests = 0, failures = 0;
  for (const auto& [kind, test] : suite) {
    if (kind != "testcase") continue;
    ++tests;
    if (!test.get_child_optional("failure")) continue;
    ++failures;
    EXPECT_THAT(test.get<std::string>("failure.<xmlattr>.message"), HasSubstr("it did not answer in time"));
  }
  EXPECT_EQ(suite.get<std::size_t>("<xmlattr>.tests"), tests);
  EXPECT_EQ(suite.get<std::size_t>("<xmlattr>.failures"), failures);
  EXPECT_GE(failures, 1U);
  EXPECT_GT(tests, failures);
  const Ended refused = check({kMock, "--rule", "R17", "--junit", folder / "missing/report.xml"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("missing/report.xml"));
}

TEST_F(ModuleCheckTest, AModuleThatChangesTheFolderDoesNotMoveTheReport) {
  const ScratchFolder folder;
  const Ended ended = run_program("env", {"-C", folder.path(), built_program("cagectl"), "module", "check",
                                          test_modules() / "changes_folder.so", "--in-process", "--junit", "report"});
  EXPECT_TRUE(std::filesystem::exists(folder / "report")) << ended.err;
}

TEST_F(ModuleCheckTest, ACrashInDiscoverIsReported) {
  const Ended ended = check({kScripted, "--option", R"(behave=["discover=crash"])"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out,
              HasSubstr("killed by signal 11 (Segmentation fault); it printed last: 'about to read register 0x10'"));
}

TEST_F(ModuleCheckTest, AHangInPrepareIsReported) {
  const Ended ended = check({kMock, "--option", "hang=prepare", "--timeout", "300ms"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("cannot prepare: it did not answer in time"));
}

TEST_F(ModuleCheckTest, AModuleThatEndsTheProcessPassesNoCheck) {
  const Ended ended = check({test_modules() / "exits_in_constructor.so", "--in-process"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, testing::EndsWith("its table and options are valid\ncagectl: the module ended this process "
                                           "with exit(3), in the check that is named last [R9]\n"));
}

TEST_F(ModuleCheckTest, AConstructorThatHangsDoesNotKeepTheProcess) {
  const ScratchFolder folder;
  const std::string release = folder / "release";
  const Ended ended =
      run_cagectl({"module", "check", test_modules() / "slow_constructor.so", "--in-process", "--timeout", "100ms"}, "",
                  {"CARDCAGE_TEST_RELEASE=" + release});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("is stuck while it is loaded, in a constructor or its entry: they must do no work"));
  EXPECT_TRUE(std::filesystem::exists(release + ".entered"));
  EXPECT_FALSE(std::filesystem::exists(release + ".left"));
}

TEST_F(ModuleCheckTest, EachBadFileFailsWithItsCauseAndRemedy) {
  const ScratchFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  for (const BadModule& bad : make_bad_modules(folder.path())) {
    const Ended ended = check({folder / (bad.name + ".so"), "--only-failed"});
    EXPECT_EQ(ended.code, 1) << bad.name;
    EXPECT_THAT(ended.out, AllOf(HasSubstr(bad.text), HasSubstr("passed, 1 failed, "))) << bad.name;
  }
  std::filesystem::create_symlink("loop.so", folder / "loop.so");
  const Ended ended = check({folder / "loop.so"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("Too many levels of symbolic links"));
}

#ifdef __x86_64__
TEST_F(ModuleCheckTest, AModuleOfTheDraftPassesWithANote) {
  const Ended ended = check({built("tests/unit/module/kept/0.3/card_c.so"), "--no-prepare", "--rule", "table"});
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("module ABI 0.3, which loads until December 2027: rebuild it with the headers of "
                                   "1.0"));
}
#endif

// Debuggers and sanitizers see a module that runs in cagectl itself.
TEST_F(ModuleCheckTest, AModuleRunsInTheProcessOfTheCheck) {
  const Ended passed = check({kMock, "--in-process", "--all-devices", "--only-failed", "--json"});
  EXPECT_EQ(passed.code, 0) << passed.out;
  EXPECT_THAT(passed.out, AllOf(HasSubstr(R"("isolation": "in-process")"), HasSubstr(R"("failed": 0)")));
  EXPECT_THAT(passed.err, AllOf(HasSubstr("R14 prepare-each        each device is prepared\n"),
                                HasSubstr("R15 allocate            Allocate gets a device\n")));
  const Ended crashed = check({kScripted, "--in-process", "--option", R"(behave=["discover=crash"])"});
  EXPECT_EQ(crashed.code, -1) << "a debugger must see the signal";
  EXPECT_THAT(crashed.err, AllOf(HasSubstr("R6  discover            "), Not(HasSubstr("discover-again"))));
}

TEST_F(ModuleCheckTest, AnAddressSanitizerSeesAModuleInTheProcessOfTheCheck) {
  if (kAddressSanitizer) GTEST_SKIP() << "cagectl has a sanitizer of its own";
  std::string runtime = run_program("gcc", {"-print-file-name=libasan.so"}).out;
  runtime.erase(runtime.find_last_not_of('\n') + 1);
  const Ended ended = run_program(built_program("cagectl"),
                                  {"module", "check", "--in-process", "--no-prepare", test_modules() / "overflow.so"},
                                  "", {"LD_PRELOAD=" + runtime, "ASAN_OPTIONS=detect_leaks=0"});
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("ERROR: AddressSanitizer: heap-buffer-overflow"), HasSubstr("overflow.c:")));
}

TEST_F(ModuleCheckTest, AWrongCommandLineIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "FILE is required"},
      {{"/no/such/file.so"}, "cannot open '/no/such/file.so': No such file or directory"},
      {{kMock, "--option", "devices"}, "'devices' is not KEY=VALUE"},
      {{kMock, "--timeout", "soon"}, "'soon'"},
      {{kMock, "--rule", "prepare-agian"}, "no rule 'prepare-agian' (did you mean 'prepare-again'?)"},
      {{kMock, "--timeout", "0s"}, "a call needs some time"}};
  for (const auto& [arguments, message] : cases) {
    const Ended ended = check(arguments);
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_THAT(ended.out, IsEmpty());
  }
}

TEST_F(ModuleCheckTest, WithoutAWorkerNothingIsChecked) {
  const ScratchFolder folder;
  const std::string lonely = folder / "cagectl";
  std::filesystem::copy_file(built_program("cagectl"), lonely);
  const Ended ended = run_program(lonely, {"module", "check", kMock});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("install cardcage-worker beside this program"), HasSubstr("No such file or directory")));
  EXPECT_THAT(ended.out, IsEmpty());
  std::filesystem::copy_file(built_program("cardcage-worker"), folder / "cardcage-worker");
  EXPECT_THAT(run_program(lonely, {"module", "check", kMock}).err,
              HasSubstr("install cardcage-access beside this program"));
}

TEST_F(ModuleCheckTest, HelpSaysThatPrepareChangesTheHardware) {
  const Ended ended = check({"--help"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("changes real hardware"), HasSubstr("--no-prepare")));
}

}  // namespace
}  // namespace cardcage
