// The completion scripts, run by real shells where they are installed.
#include <gmock/gmock.h>

#include "tests/fakes/scratch_folder.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

std::string script(const std::string& shell) {
  const Ended ended = run_cagectl({"completion", shell});
  EXPECT_EQ(ended.code, 0) << ended.err;
  return ended.out;
}

// Returns bash's completions for the last word of `line`.
std::string complete(const std::vector<std::string>& line) {
  std::string words;
  for (const std::string& word : line) words += " '" + word + "'";
  const std::string program = fmt::format(
      "{}\ncagectl() {{ [ \"$1 $2\" = 'names devices' ] && echo gpu-0 gpu-1; [ \"$1 $2\" = 'names modules' ] && echo "
      "mock; [ \"$1 $2\" = 'names causes' ] && echo Xid Ecc; }}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_cagectl\necho "
      "\"${{COMPREPLY[*]}}\"\n",
      script("bash"), words, line.size() - 1);
  const Ended ended = run_program("bash", {"--norc", "-c", program});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  return ended.out;
}

TEST(CompletionTest, BashAcceptsTheScript) {
  const ScratchFolder folder;
  const std::string file = folder / "completion";
  for (const std::string shell : {"bash", "zsh"}) {
    ASSERT_TRUE(write_file_atomically(file, script(shell), 0600, false));
    const Ended ended = run_program("bash", {"-n", file});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
}

TEST(CompletionTest, ScriptsMatchTheGoldenFiles) {
  for (const std::string shell : {"bash", "zsh", "fish"}) expect_golden("completion." + shell, script(shell));
}

TEST(CompletionTest, BashOffersCommandsOptionsAndNames) {
  EXPECT_EQ(complete({"cagectl", "sta"}), "status\n");
  EXPECT_THAT(complete({"cagectl", ""}), HasSubstr("status ready modules module devices"));
  EXPECT_EQ(complete({"cagectl", "--js"}), "--json\n");
  EXPECT_EQ(complete({"cagectl", "history", "--li"}), "--limit\n");
  EXPECT_EQ(complete({"cagectl", "--socket", "/s", "history", "--li"}), "--limit\n");
  EXPECT_EQ(complete({"cagectl", "modules", "--options", ""}), "mock\n");
  EXPECT_EQ(complete({"cagectl", "devices", "gpu-"}), "gpu-0 gpu-1\n");
  EXPECT_EQ(complete({"cagectl", "completion", "z"}), "zsh\n");
  EXPECT_EQ(complete({"cagectl", "module", "qu"}), "quiesce\n");
  EXPECT_EQ(complete({"cagectl", "module", "check", "--no"}), "--no-prepare\n");
  EXPECT_EQ(complete({"cagectl", "module", "quiesce", "mo"}), "mock\n");
  EXPECT_EQ(complete({"cagectl", "module", "resume", "--re"}), "--reason\n");
  EXPECT_EQ(complete({"cagectl", "health", "gpu-"}), "gpu-0 gpu-1\n");
  EXPECT_EQ(complete({"cagectl", "health", "ru"}), "rules\n");
  EXPECT_EQ(complete({"cagectl", "health", "rules", "mo"}), "mock\n");
  EXPECT_EQ(complete({"cagectl", "device", "co"}), "cordon\n");
  EXPECT_EQ(complete({"cagectl", "device", "clear", "gpu-1", "X"}), "Xid\n");
  EXPECT_EQ(complete({"cagectl", "device", "reset", "--mod"}), "--module\n");
  EXPECT_EQ(complete({"cagectl", "device", "reset", "gpu-1", "--module", ""}), "mock\n");
  EXPECT_EQ(complete({"cagectl", "--socket", ""}), "\n") << "the shell completes file names";
}

}  // namespace
}  // namespace cardcage
