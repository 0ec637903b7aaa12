#include "modules/nvidia/metrics/figure_choice.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <tuple>

#include "modules/common/text.h"

namespace cardcage::nvidia {
namespace {

bool is_known_figure(std::string_view name) {
  return std::apply([&](const auto&... figure) { return ((figure.name == name) || ...); }, figures::all);
}

bool is_default_figure(std::string_view name) {
  return std::apply([&](const auto&... figure) { return ((figure.name == name) || ...); }, figures::defaults);
}

}  // namespace

std::vector<std::string> fields_of_list(std::istream& list) {
  std::vector<std::string> fields;
  for (std::string line; std::getline(list, line);) {
    std::istringstream columns(line);
    std::string field, type;
    std::getline(columns, field, ',');
    std::getline(columns, type, ',');
    const std::string_view name = hardware::trimmed(field);
    if (name.empty() || name.front() == '#' || hardware::trimmed(type) == "label") continue;
    fields.emplace_back(name);
  }
  return fields;
}

FigureChoice::FigureChoice(const cage::Values& options) {
  const auto names = options.list("metrics");
  const std::string path(options.text("metrics_file"));
  if (!names.empty() && !path.empty())
    throw cage::Error(CAGE_INVALID_ARGUMENT, "metrics and metrics_file exclude each other; remove one of them");
  for (const std::string_view name : names) choose(std::string(name));
  if (path.empty()) return;
  std::ifstream file(path);
  if (!file)
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "metrics_file: reading '" + path + "': " + std::generic_category().message(errno));
  for (const std::string& name : fields_of_list(file)) choose(name);
  if (!chosen_)
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "metrics_file: '" + path + "' names no figure; each line begins with the name of one");
}

void FigureChoice::choose(const std::string& name) {
  if (!chosen_) chosen_.emplace();
  if (is_known_figure(name))
    chosen_->insert(name);
  else
    unknown_.push_back(name);
}

bool FigureChoice::has(std::string_view figure) const {
  return chosen_ ? chosen_->contains(figure) : is_default_figure(figure);
}

}  // namespace cardcage::nvidia
