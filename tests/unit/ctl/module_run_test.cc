// cagectl module run: a module file on an embedded node of its own.
#include <gmock/gmock.h>

#include <filesystem>
#include <regex>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/ctl/cagectl_process.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Ended run_module(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"module", "run"});
  return run_cagectl(arguments);
}

// Returns the folder of the node, which the commands name.
std::filesystem::path folder_in(const std::string& output) {
  std::smatch found;
  return std::regex_search(output, found, std::regex("/tmp/cardcage-run\\.[A-Za-z0-9]+")) ? found.str() : "";
}

TEST(ModuleRunTest, PreparesADeviceOnce) {
  const Ended ended = run_module({built_module("mock"), "--once", "--option", R"(devices=["gpu:2"])"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("$ cagectl devices\n"), HasSubstr("gpu-1"), Not(HasSubstr("gpu-2")),
                               HasSubstr("prepared by mock.example.com"), HasSubstr(": unprepared")));
  const auto folder = folder_in(ended.out);
  ASSERT_FALSE(folder.empty()) << ended.out;
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(ModuleRunTest, NamesOfTheModuleAndItsDriverCanBeChosen) {
  const Ended ended = run_module({built_module("mock"), "--once", "--name", "cards", "--driver", "cards.acme.com"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr(" cards "), HasSubstr("prepared by cards.acme.com")));
}

TEST(ModuleRunTest, OptionsOfEachTypeReachTheModule) {
  const Ended ended =
      run_module({built_module("mock"), "--once", "--option", R"(devices=["gpu:3"])", "--option", "seed=\"42\"",
                  "--option", "shared=true", "--option", "sockets=1", "--option", "gpu_model=H100 80GB"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("gpu-2"));
}

TEST(ModuleRunTest, AnInterruptedCommandDoesNotCountAsDone) {
  const Ended ended =
      run_program("timeout", {"--foreground", "--preserve-status", "--signal=INT", "2", built_program("cagectl"),
                              "module", "run", built_module("mock"), "--once", "--option", "prepare_delay=5s"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("cagectl: interrupted\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("$ cagectl unprepare")));
  EXPECT_FALSE(std::filesystem::exists(folder_in(ended.out)));
}

TEST(ModuleRunTest, AModuleThatCannotRunIsReportedAtOnce) {
  const ScratchFolder folder;
  const std::string file = folder / "libcardcage_text.so";
  ASSERT_TRUE(write_file_atomically(file, "not a module", 0644, false));
  const Ended ended = run_module({file, "--once"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("module 'text' does not run: "), HasSubstr("it is not an ELF file")));
}

TEST(ModuleRunTest, AWrongCommandLineIsRefused) {
  for (const auto& [arguments, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "FILE is required"},
           {{"/no/such/file.so"}, "cannot open '/no/such/file.so': No such file or directory"},
           {{built_module("mock"), "--driver", "Not A Driver"}, "Not A Driver"},
           {{built_module("mock"), "--program", "nvidia-smi"}, "is not an absolute path"}}) {
    const Ended ended = run_module(arguments);
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_THAT(ended.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace cardcage
