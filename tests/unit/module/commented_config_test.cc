// Every line that is commented out in config/cardcage.toml passes `cardcage --check` once an operator uncomments it.
#include <gmock/gmock.h>

#include <sstream>

#include "host/core/file.h"
#include "host/module/check_modules.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/sanitizers.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

std::optional<std::string> environment(const std::string& name) {
  return name == "NODE_NAME" ? std::optional<std::string>("node1") : std::nullopt;
}

class CommentedConfigTest : public ::testing::Test {
 protected:
  CommentedConfigTest() {
    std::istringstream text(read_file(source_folder() / "config/cardcage.toml", 100'000).value());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  // Sanitizers do not start with the memory limits of the sample.
  static bool limits_memory(const std::string& line) {
    return line.starts_with("#as =") || line.starts_with("#data =");
  }
  // Prose has a space after the '#'.
  bool is_commented(std::size_t line) const {
    return lines.at(line).size() > 1 && lines[line][0] == '#' && lines[line][1] != ' ';
  }
  bool is_table(std::size_t line) const { return is_commented(line) && lines[line][1] == '['; }
  // The lines that an operator uncomments with this line: in a table that is commented out, too, all above the line,
  // and the required ones below it.
  std::vector<std::size_t> needed_for(std::size_t line) const {
    std::vector<std::size_t> needed{line};
    for (std::size_t above = line; !is_table(needed.front()) && above > 0 && !lines[above - 1].empty(); --above)
      if (is_commented(above - 1)) needed.insert(needed.begin(), above - 1);
    if (!is_table(needed.front())) return {line};
    for (std::size_t below = line + 1; below < lines.size() && is_commented(below) && !is_table(below); ++below)
      if (lines[below].contains("# required")) needed.push_back(below);
    if (lines[line].starts_with("#relapses")) needed.push_back(line + 1);  // the window of relapses
    return needed;
  }
  std::vector<std::string> problems(const std::vector<std::size_t>& uncommented) const {
    std::vector<std::string> changed = lines;
    for (const std::size_t line : uncommented)
      if (!(kAddressSanitizer || kThreadSanitizer) || !limits_memory(lines[line])) changed[line].erase(0, 1);
    auto config = parse_config(fmt::format("{}\n", fmt::join(changed, "\n")), "cardcage.toml", environment);
    if (!config) return {config.error().to_string()};
    config->node.modules_dirs = {built_modules()};
    std::vector<std::string> texts;
    for (const Error& problem : check_modules(*config)) texts.push_back(problem.message);
    return texts;
  }

  std::vector<std::string> lines;
};

TEST_F(CommentedConfigTest, EachLinePassesTheCheckByItself) {
  std::size_t tried = 0;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    if (!is_commented(line) || is_table(line)) continue;
    EXPECT_THAT(problems(needed_for(line)), ::testing::IsEmpty()) << line + 1 << ": " << lines[line];
    ++tried;
  }
  EXPECT_GT(tried, 60u);
}

TEST_F(CommentedConfigTest, AllLinesPassTheCheckTogether) {
  std::vector<std::size_t> all;
  for (std::size_t line = 0; line < lines.size(); ++line)
    if (is_commented(line)) all.push_back(line);
  EXPECT_THAT(problems(all), ::testing::IsEmpty());
}

}  // namespace
}  // namespace cardcage
