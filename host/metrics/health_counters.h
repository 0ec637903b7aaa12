// How often causes of the health of devices began, ended and so on.
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
  // A module that puts numbers into the names of its causes would make series without end: causes beyond these of one
  // module count as "other".
  static constexpr std::size_t kMaxCauses = 64;

  void note(const HealthEvent& event);
  MetricFamily family() const;

 private:
  std::map<MetricLabels, std::uint64_t> events_;
  std::map<std::string, std::set<std::string>> causes_;  // by module
};

}  // namespace cardcage
