// The completion scripts, read by real shells where there are some.
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

// What bash offers for `line`, whose last word is being typed.
std::string offered(const std::vector<std::string>& line) {
  std::string words;
  for (const std::string& word : line) words += " '" + word + "'";
  const std::string program = fmt::format(
      "{}\ncagectl() {{ [ \"$1 $2\" = 'names devices' ] && echo gpu-0 gpu-1; [ \"$1 $2\" = 'names modules' ] && echo "
      "mock; }}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_cagectl\necho \"${{COMPREPLY[*]}}\"\n",
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

TEST(CompletionTest, ScriptsAreTheGoldenOnes) {
  for (const std::string shell : {"bash", "zsh", "fish"}) expect_golden("completion." + shell, script(shell));
}

TEST(CompletionTest, BashOffersCommandsOptionsAndNames) {
  EXPECT_EQ(offered({"cagectl", "sta"}), "status\n");
  EXPECT_THAT(offered({"cagectl", ""}), HasSubstr("status modules module devices"));
  EXPECT_EQ(offered({"cagectl", "--js"}), "--json\n");
  EXPECT_EQ(offered({"cagectl", "history", "--li"}), "--limit\n");
  EXPECT_EQ(offered({"cagectl", "--socket", "/s", "history", "--li"}), "--limit\n");
  EXPECT_EQ(offered({"cagectl", "modules", "--options", ""}), "mock\n");
  EXPECT_EQ(offered({"cagectl", "devices", "gpu-"}), "gpu-0 gpu-1\n");
  EXPECT_EQ(offered({"cagectl", "completion", "z"}), "zsh\n");
  EXPECT_EQ(offered({"cagectl", "module", "qu"}), "quiesce\n");
  EXPECT_EQ(offered({"cagectl", "module", "quiesce", "mo"}), "mock\n");
  EXPECT_EQ(offered({"cagectl", "module", "resume", "--re"}), "--reason\n");
  EXPECT_EQ(offered({"cagectl", "--socket", ""}), "\n") << "a file: left to the shell";
}

}  // namespace
}  // namespace cardcage
