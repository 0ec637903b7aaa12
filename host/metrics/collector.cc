#include "host/metrics/collector.h"

#include <algorithm>
#include <set>

#include "host/core/log.h"

namespace cardcage {

MetricsCollector::MetricsCollector(asio::io_context& core, Clock& clock, std::function<std::vector<Source>()> sources)
    : sources_(std::move(sources)), state_(std::make_shared<State>(State{core, clock, {}, {}})) {}

// A collection queued behind a long call of a module that is not concurrent would only wait.
bool MetricsCollector::is_due(const Entry& entry, const Module& instance, Instant now) {
  if (entry.under_way || (entry.begun && now - *entry.begun < kFresh)) return false;
  return !entry.latest.samples || instance.identity().concurrent || !instance.busy();
}

Task<std::vector<CollectedMetrics>> MetricsCollector::collect() {
  const auto state = state_;
  std::vector<std::shared_ptr<Entry>> wanted;
  std::set<std::string> names;
  for (const Source& source : sources_()) {
    std::shared_ptr<Entry>& entry = state->entries[source.module];
    if (!entry || entry->instance.lock() != source.instance) {
      entry = std::make_shared<Entry>();
      entry->instance = source.instance;
      entry->latest.module = source.module;
      entry->latest.declared =
          std::make_shared<const std::vector<MetricDeclaration>>(source.instance->identity().metrics);
    }
    names.insert(source.module);
    wanted.push_back(entry);
    if (is_due(*entry, *source.instance, state->clock.now())) {
      entry->begun = state->clock.now();
      entry->under_way = true;
      spawn(state->core, refresh(state, entry, source.instance));
    }
  }
  std::erase_if(state->entries, [&](const auto& entry) { return !names.contains(entry.first); });
  for (const auto& entry : wanted) {
    while (entry->under_way && state->clock.now() < *entry->begun + kPatience) {
      const OneShot<bool> ended(state->core);
      state->waiting.push_back(ended);
      co_await ended.wait_until(state->clock, *entry->begun + kPatience);
    }
  }
  std::vector<CollectedMetrics> collected;
  for (const auto& entry : wanted) collected.push_back(entry->latest);
  co_return collected;
}

Task<void> MetricsCollector::refresh(std::shared_ptr<State> state, std::shared_ptr<Entry> entry,
                                     std::shared_ptr<Module> instance) {
  auto samples = co_await instance->call(CollectMetricsCall{}, state->clock.now() + kLimit);
  CollectedMetrics& latest = entry->latest;
  if (samples) {
    latest.samples = std::move(*samples);
    latest.collected = state->clock.wall();
  } else {
    ++latest.failures;
    if (samples.error().code != Code::kDeadlineExceeded) latest.samples = nullptr;
    log_limited(LogLevel::kWarn, latest.module + "/metrics", "metrics are not collected",
                {{"module", latest.module}, {"error", samples.error().message}});
  }
  entry->under_way = false;
  for (const OneShot<bool>& waiter : std::exchange(state->waiting, {})) waiter.set(true);
}

}  // namespace cardcage
