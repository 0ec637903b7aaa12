#include "host/metrics/call_times.h"

#include <fmt/format.h>

#include <algorithm>

namespace cardcage {
namespace {

std::string_view word(KubeletCall call) {
  switch (call) {
    case KubeletCall::kPrepare: return "prepare";
    case KubeletCall::kUnprepare: return "unprepare";
    case KubeletCall::kAllocate: return "allocate";
    case KubeletCall::kPreStart: return "pre_start";
  }
  return "unknown";
}

}  // namespace

void CallTimes::answered(KubeletCall call, const std::string& name, Code code, Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  Histogram& histogram =
      histograms_[{{"call", std::string(word(call))}, {"code", std::string(to_string(code))}, {"name", name}}];
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++histogram.counts[static_cast<std::size_t>(bound - kBounds.begin())];
  histogram.sum += seconds;
}

MetricFamily CallTimes::family() const {
  MetricFamily family{.name = "cardcage_call_seconds",
                      .help = "how long the kubelet waited for a response, per claim or container",
                      .type = FamilyType::kHistogram,
                      .samples = {}};
  for (const auto& [labels, histogram] : histograms_) {
    std::uint64_t count = 0;  // the count of a bucket includes all smaller buckets
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      count += histogram.counts[i];
      MetricLabels bucket = labels;
      bucket.emplace_back("le", i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf");
      family.samples.push_back({std::move(bucket), static_cast<double>(count), "_bucket"});
    }
    family.samples.push_back({labels, histogram.sum, "_sum"});
    family.samples.push_back({labels, static_cast<double>(count), "_count"});
  }
  return family;
}

}  // namespace cardcage
