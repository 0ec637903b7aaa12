// Metrics and labels: each one within the rules [R17]. The catalogue, too [R22]. Events: the call returns [R20].
#include <algorithm>

#include "host/conformance/rules.h"

namespace cardcage::rules {
namespace {

Outcome complete(const LeftOut& left_out, std::string evidence) {
  if (left_out.count == 0) return passed(std::move(evidence));
  std::string more = left_out.count == 1 ? "" : fmt::format("; {} more are left out", left_out.count - 1);
  return broken(fmt::format("{}{}", left_out.first, more));
}

}  // namespace

Task<Outcome> reports_valid_samples(Trial& trial) {
  if (trial.identity()->metrics.empty()) co_return skipped("the module declares no metrics");
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  const auto collected = co_await trial.call<CollectMetricsCall>();
  if (!collected) co_return broken(collected.error());
  const auto unknown = std::ranges::find_if((*collected)->samples, [&](const MetricSample& sample) {
    return !sample.device_id.empty() && !(*snapshot)->find(sample.device_id);
  });
  if (unknown != (*collected)->samples.end())
    co_return broken(fmt::format("a sample of metric '{}' is of device '{}', which discover does not report",
                                 trial.identity()->metrics.at(unknown->metric).name, unknown->device_id));
  co_return complete((*collected)->left_out, fmt::format("samples: {}", (*collected)->samples.size()));
}

Task<Outcome> reports_valid_labels(Trial& trial) {
  if (!trial.identity()->has(Family::kLabels)) co_return skipped("the module has no cage.labels");
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  const auto collected = co_await trial.call<CollectLabelsCall>();
  if (!collected) co_return broken(collected.error());
  co_return complete(collected->left_out, fmt::format("labels: {}", collected->values.size()));
}

Task<Outcome> lists_a_valid_catalogue(Trial& trial) {
  if (!trial.identity()->has(Family::kCatalogue)) co_return skipped("the module has no cage.catalogue");
  const auto collected = co_await trial.call<CollectCatalogueCall>();
  if (!collected) co_return broken(collected.error());
  const auto unexplained = std::ranges::find_if(
      collected->entries, [](const CatalogueEntry& entry) { return entry.refused && entry.detail.empty(); });
  if (unexplained != collected->entries.end())
    co_return broken(fmt::format("{} '{}' is refused and not explained", unexplained->kind, unexplained->name));
  co_return complete(collected->left_out, fmt::format("entries: {}", collected->entries.size()));
}

Task<Outcome> handles_events(Trial& trial) {
  const auto& watch = trial.identity()->watch;
  if (!watch) co_return skipped("the module has no cage.watch");
  EventBatch loss{.events = {}, .lost = true};
  const Status handled = co_await trial.call<EventsCall>(std::move(loss));
  if (!handled) co_return broken(handled.error());
  co_return passed(
      fmt::format("beginnings of messages: {}, subsystems: {}", watch->kernel_log.size(), watch->uevents.size()));
}

}  // namespace cardcage::rules
