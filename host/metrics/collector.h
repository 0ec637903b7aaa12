// Collects the figures of modules when a page is requested, and keeps the last samples.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/model/module.h"

namespace cardcage {

// The samples and failures known for one module.
struct CollectedMetrics {
  std::string module;
  std::shared_ptr<const std::vector<MetricDeclaration>> declared;
  MetricSamplesPtr samples;                         // last collection; null before the first one and after a failed one
  std::chrono::system_clock::time_point collected;  // end of the last collection
  std::uint64_t failures = 0;                       // failed collections of this instance
};

// [core] A module runs one collection at a time, however many pages are requested; the next one starts kFresh after it.
class MetricsCollector {
 public:
  static constexpr std::chrono::seconds kFresh{2};
  // Deadline of one collection. A module that runs past it is stuck.
  static constexpr std::chrono::seconds kLimit{10};
  // A page waits this long for a collection; then it shows the last samples.
  static constexpr std::chrono::seconds kPatience{2};

  // A running instance that declares metrics.
  struct Source {
    std::string module;  // name in the configuration
    std::shared_ptr<Module> instance;
  };

  // `core` and `clock` outlive the collections.
  MetricsCollector(asio::io_context& core, Clock& clock, std::function<std::vector<Source>()> sources);

  // Returns one entry per source, in order. A collection that passes its deadline keeps the last samples; one that
  // fails removes them. Samples are dropped with their instance.
  Task<std::vector<CollectedMetrics>> collect();

 private:
  struct Entry {
    std::weak_ptr<Module> instance;
    CollectedMetrics latest;
    std::optional<Instant> begun;  // start of the last collection
    bool under_way = false;
  };
  // Shared by the collector and the collections.
  struct State {
    asio::io_context& core;
    Clock& clock;
    std::map<std::string, std::shared_ptr<Entry>> entries;
    std::vector<OneShot<bool>> waiting;  // callers that wait for the end of a collection
  };
  static bool is_due(const Entry& entry, const Module& instance, Instant now);
  static Task<void> refresh(std::shared_ptr<State> state, std::shared_ptr<Entry> entry,
                            std::shared_ptr<Module> instance);

  const std::function<std::vector<Source>()> sources_;
  const std::shared_ptr<State> state_;
};

}  // namespace cardcage
