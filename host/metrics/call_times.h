// Measures how long the kubelet waits for responses.
#pragma once

#include <array>
#include <map>
#include <string>

#include "host/claim/call_meter.h"
#include "host/metrics/text_format.h"

namespace cardcage {

// [core]
class CallTimes final : public CallMeter {
 public:
  void answered(KubeletCall call, const std::string& name, Code code, Duration took) override;
  // One histogram for each call, name and code.
  MetricFamily family() const;

 private:
  // Bounds in seconds: from the Allocate of a fast module to a prepare that hits its deadline.
  static constexpr std::array kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,   0.1,     0.5,    1.0,   5.0,    10.0,  40.0};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size() + 1> counts{};  // the last element counts calls beyond all bounds
    double sum = 0;
  };
  std::map<MetricLabels, Histogram> histograms_;
};

}  // namespace cardcage
