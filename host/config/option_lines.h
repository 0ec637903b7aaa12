// A table in the list of an option (CAGE_OPTION_OBJECTS), as a module reads it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "host/model/text_rules.h"

namespace cardcage {

// Lines NAME=VALUE, sorted by name. A list has a line for each item.
class OptionLines {
 public:
  // Returns false for a member that has no such form.
  bool add(std::string_view name, std::string_view value) {
    if (name.empty() || !is_line(name) || name.find('=') != std::string_view::npos || !is_line(value)) return false;
    lines_[std::string(name)].append(name).append("=").append(value).append("\n");
    return true;
  }
  std::string text() const {
    std::string text;
    for (const auto& [name, lines] : lines_) text += lines;
    return text;
  }

 private:
  std::map<std::string, std::string> lines_;  // by name
};

}  // namespace cardcage
