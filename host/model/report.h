// Reports of a module that are not for the kubelet: figures for Prometheus, and labels of the node [R17].
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/ascii.h"

namespace cardcage {

// The values are those of cage_metric.
enum class MetricType : std::uint8_t { kGauge = 1, kCounter = 2 };

struct MetricDeclaration {
  MetricType type = MetricType::kGauge;
  std::string name;  // without the prefix
  std::string help;
  std::vector<std::string> labels;
  friend bool operator==(const MetricDeclaration&, const MetricDeclaration&) = default;
};

// The prefix of a module's metric names in Prometheus. No metric of the host begins with it, or with a capital: a name
// in upper case stays as it is, because dashboards know it from a vendor's exporter.
constexpr std::string_view metric_prefix(std::string_view name) {
  return name.empty() || is_upper(name[0]) ? "" : "cardcage_hw_";
}

constexpr std::size_t kMaxMetrics = 128, kMaxMetricLabels = 16;  // metrics per module; label names per metric
constexpr std::size_t kMaxLabelValue = 256;
constexpr std::size_t kMaxSamples = 50'000;       // per collection
constexpr std::size_t kMaxSampleText = 8u << 20;  // device ids and label values per collection
constexpr std::size_t kMaxNodeLabels = 256;

struct MetricSample {
  std::uint32_t metric = 0;         // index of the declaration
  std::string device_id;            // empty = the instance
  std::vector<std::string> labels;  // one value per label name
  double value = 0;
  friend bool operator==(const MetricSample&, const MetricSample&) = default;
};

// Items that the host left out of a report because they break a rule.
struct LeftOut {
  std::uint64_t count = 0;
  std::string first;  // the first item and the reason
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

// One collection, in the order in which the module reported.
struct MetricSamples {
  std::vector<MetricSample> samples;
  LeftOut left_out;
  friend bool operator==(const MetricSamples&, const MetricSamples&) = default;
};
using MetricSamplesPtr = std::shared_ptr<const MetricSamples>;

struct NodeLabels {
  std::map<std::string, std::string> values;  // by name: "example.com/driver"
  LeftOut left_out;
  friend bool operator==(const NodeLabels&, const NodeLabels&) = default;
};

}  // namespace cardcage
