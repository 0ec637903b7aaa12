// Asks modules for their figures when a page is wanted, and keeps the last answers.
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

// What is known of the figures of one module.
struct CollectedMetrics {
  std::string module;
  std::shared_ptr<const std::vector<MetricDeclaration>> declared;
  MetricSamplesPtr samples;  // of the last collection; null before the first, and after one that failed
  std::chrono::system_clock::time_point collected;  // when it ended
  std::uint64_t failures = 0;                       // collections of this instance
};

// [core] However many pages are wanted, a module has one collection at a time, and a new one kFresh after the last.
class MetricsCollector {
 public:
  static constexpr std::chrono::seconds kFresh{2};
  // Of one collection. A module that goes on after it is stuck.
  static constexpr std::chrono::seconds kLimit{10};
  // A page waits so long for a collection; then it shows the last one.
  static constexpr std::chrono::seconds kPatience{2};

  // A running instance that declares metrics.
  struct Source {
    std::string module;  // in the configuration
    std::shared_ptr<Module> instance;
  };

  // `core` and `clock` outlive the collections.
  MetricsCollector(asio::io_context& core, Clock& clock, std::function<std::vector<Source>()> sources);

  // In the order of the sources. A collection that passes its deadline leaves the last samples; one that fails leaves
  // none. The samples of an instance go with it.
  Task<std::vector<CollectedMetrics>> collect();

 private:
  struct Entry {
    std::weak_ptr<Module> instance;
    CollectedMetrics latest;
    std::optional<Instant> begun;  // the last collection
    bool under_way = false;
  };
  // Shared with the collections.
  struct State {
    asio::io_context& core;
    Clock& clock;
    std::map<std::string, std::shared_ptr<Entry>> entries;
    std::vector<OneShot<bool>> waiting;  // for the end of a collection
  };
  static bool is_due(const Entry& entry, const Module& instance, Instant now);
  static Task<void> refresh(std::shared_ptr<State> state, std::shared_ptr<Entry> entry,
                            std::shared_ptr<Module> instance);

  const std::function<std::vector<Source>()> sources_;
  const std::shared_ptr<State> state_;
};

}  // namespace cardcage
