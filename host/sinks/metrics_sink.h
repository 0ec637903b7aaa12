// Collects the samples that a module reports for Prometheus: copies and checks each, and leaves out those that break a
// rule [R17].
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "cardcage/module.h"
#include "host/model/report.h"
#include "host/sinks/sink_guard.h"

namespace cardcage {

// [module thread] between open() and finish(); its C function refuses other threads and other times.
class MetricsSink : public SinkGuard {
 public:
  // `declared` outlives the sink.
  MetricsSink(const std::string& module, const std::vector<MetricDeclaration>& declared);

  cage_metrics_sink* open();
  MetricSamples finish();

 private:
  // Two samples belong to one series if they differ in their values alone.
  struct SeriesHash {
    std::size_t operator()(const MetricSample* sample) const;
  };
  struct SameSeries {
    bool operator()(const MetricSample* a, const MetricSample* b) const;
  };

  Status add(std::uint32_t metric, cage_str device_id, const cage_str* label_values, double value);
  Result<MetricSample> copy(std::uint32_t metric, cage_str device_id, const cage_str* label_values, double value) const;
  Status keep(MetricSample sample);

  const std::vector<MetricDeclaration>& declared_;
  cage_metrics_sink table_{};
  MetricSamples collected_;  // with room for all samples: pointers to them stay valid
  std::unordered_set<const MetricSample*, SeriesHash, SameSeries> series_;
  std::size_t text_ = 0;
  bool full_ = false;
};

}  // namespace cardcage
