#include "tests/hostile/failure_table.h"

#include <array>
#include <fstream>

#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

// By enumerator.
constexpr std::array<std::string_view, 7> kOutcomes{"refused",        "call fails",  "instance lost", "harmless",
                                                    "daemon spoiled", "daemon dies", "not run"};
constexpr std::size_t kColumns = 3;

std::vector<std::string> lines_beginning_with(std::string_view start) {
  std::ifstream file(source_folder() / "docs/failure-modes.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(start)) lines.push_back(line.substr(start.size()));
  return lines;
}

std::vector<std::string> split(std::string_view line, std::string_view between) {
  std::vector<std::string> parts;
  for (std::size_t end = line.find(between); end != std::string_view::npos; end = line.find(between)) {
    parts.emplace_back(line.substr(0, end));
    line.remove_prefix(end + between.size());
  }
  parts.emplace_back(line);
  return parts;
}

FailureRow::Cell read_cell(const std::string& text) {
  FailureRow::Cell cell;
  const std::vector<std::string> parts = split(text, ": ");
  for (std::size_t i = 0; i < kOutcomes.size(); ++i)
    if (parts[0] == kOutcomes[i]) cell.outcome = static_cast<Outcome>(i);
  if (parts.size() > 1) cell.words = text.substr(parts[0].size() + 2);
  return cell;
}

}  // namespace

std::string_view to_string(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

std::vector<FailureRow> read_failure_table() {
  std::vector<FailureRow> rows;
  for (const std::string& line : lines_beginning_with("| ")) {
    std::vector<std::string> cells = split(line.substr(0, line.rfind(" |")), " | ");
    cells.resize(kColumns);
    if (cells[0] == "fault" || cells[0].starts_with("---")) continue;
    rows.push_back({cells[0], read_cell(cells[1]), read_cell(cells[2])});
  }
  return rows;
}

std::vector<std::string> read_explained_outcomes() {
  std::vector<std::string> words;
  for (const std::string& line : lines_beginning_with("- **")) words.push_back(line.substr(0, line.find("**")));
  return words;
}

}  // namespace cardcage
