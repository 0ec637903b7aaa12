// Prometheus' text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardcage {

enum class FamilyType : std::uint8_t { kCounter, kGauge, kHistogram };

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

struct MetricFamily {
  struct Sample {
    MetricLabels labels;
    double value = 0;
    std::string_view suffix = "";  // name suffix: "_bucket", "_sum" or "_count" for a histogram
  };
  std::string name;
  std::string help;
  FamilyType type = FamilyType::kGauge;
  std::vector<Sample> samples;
};

void append_family(std::string& page, const MetricFamily& family);

// Append the parts of a series whose labels are text already.
void append_head(std::string& page, std::string_view name, std::string_view help, FamilyType type);
// Separates labels with commas.
void append_label(std::string& labels, std::string_view name, std::string_view value);
void append_value(std::string& page, double value);

}  // namespace cardcage
