// Counts how often health causes began, ended and so on.
#pragma once

#include <map>
#include <set>
#include <string>

#include "host/metrics/text_format.h"
#include "host/model/health_record.h"

namespace cardcage {

// [core]
class HealthCounters {
 public:
  // Bounds the causes of one module: a module that puts numbers into cause names would make endless series. Further
  // causes count as "other".
  static constexpr std::size_t kMaxCauses = 64;

  void note(const HealthEvent& event);
  MetricFamily family() const;

 private:
  std::map<MetricLabels, std::uint64_t> events_;
  std::map<std::string, std::set<std::string>> causes_;  // by module
};

}  // namespace cardcage
