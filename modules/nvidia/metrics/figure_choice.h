// Which figures are reported: those of dcgm-exporter's default lists, or those that the operator names.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "modules/nvidia/metrics/figures.h"

namespace cardcage::nvidia {

class FigureChoice {
 public:
  // Reads the options `metrics`, names, and `metrics_file`, a list of dcgm-exporter. Throws cage::Error if both are
  // given, or the file cannot be read.
  explicit FigureChoice(const cage::Values& options);

  bool has(std::string_view figure) const;
  template <std::size_t Labels>
  bool has(const cage::Metric<Labels>& figure) const {
    return has(figure.name);
  }
  // Named by the operator and unknown to the module.
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  void choose(const std::string& name);

  std::optional<std::set<std::string, std::less<>>> chosen_;  // nothing = the default
  std::vector<std::string> unknown_;
};

// The fields that a list of dcgm-exporter names: lines of a field, a type and a help text, separated by commas.
// Comments begin with '#'. Fields of the type "label" become labels there and are left out.
std::vector<std::string> fields_of_list(std::istream& list);

}  // namespace cardcage::nvidia
