// The completion scripts, run by real shells where they are installed.
#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <sstream>

#include "sim/scratch_folder.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

// Returns the options of each command that fish completes, without --help: "module quiesce --reason".
std::set<std::string> fish_options() {
  static const std::regex rule("'__fish_seen_subcommand_from (.*)' -l (.*?) (-r |-x .*)?-d ");
  static const std::regex second("; and __fish_seen_subcommand_from");
  const std::string fish = script("fish");
  std::set<std::string> options;
  for (std::sregex_iterator found(fish.begin(), fish.end(), rule), end; found != end; ++found)
    if ((*found)[2] != "help")
      options.insert(std::regex_replace((*found)[1].str(), second, "") + " --" + (*found)[2].str());
  return options;
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

TEST(CompletionTest, TheCommandsAndTheirOptionsAreThoseOfTheGoldenFile) {
  static const std::regex rule(R"re( +"(.*)"\) words="?(.*?)"? ;;\n)re");
  static const std::regex names(R"re(\$\(cagectl names (\w+) 2>/dev/null\))re");
  static const std::set<std::string> of_every_command{"--help", "--socket", "--json", "--version"};
  const std::string bash = script("bash");
  std::string tree;
  std::set<std::string> options;
  for (std::sregex_iterator found(bash.begin(), bash.end(), rule), end; found != end; ++found) {
    const std::string command = (*found)[1];
    tree += (command.empty() ? "cagectl" : command) + ":";
    std::istringstream words(std::regex_replace((*found)[2].str(), names, "[$1]"));
    for (std::string word; words >> word;) {
      if (!command.empty() && of_every_command.contains(word)) continue;
      tree += " " + word;
      if (!command.empty() && word.starts_with("--")) options.insert(command + " " + word);
    }
    tree += "\n";
  }
  expect_golden("commands.txt", tree);
  EXPECT_EQ(fish_options(), options);
}

TEST(CompletionTest, ZshRunsTheScriptOfBash) {
  EXPECT_THAT(script("zsh"), StartsWith("autoload -U +X compinit && compinit\n"));
  EXPECT_THAT(script("zsh"), EndsWith(script("bash")));
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
