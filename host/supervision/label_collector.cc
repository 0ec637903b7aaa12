#include "host/supervision/label_collector.h"

#include <utility>

#include "host/core/log.h"

namespace cardcage {

void LabelCollector::request() {
  due_ = module_.identity->has(Family::kLabels) || !labels_.values.empty();
  known_ |= !due_;
}

// The last labels stay until the module reports others.
Task<void> LabelCollector::collect() {
  Result<NodeLabels> labels = NodeLabels();
  if (module_.identity->has(Family::kLabels))
    labels = co_await module_.instance->call(CollectLabelsCall{}, module_.discover_deadline());
  if (module_.life.lost()) co_return;
  due_ = false;
  if (!labels)
    log_limited(LogLevel::kWarn, module_.name() + "/labels", "node labels are not collected; the last ones stay",
                {{"module", module_.name()}, {"error", labels.error().message}});
  known_ |= labels.has_value();
  const bool changed = labels && *labels != labels_;
  if (changed) labels_ = std::move(*labels);
  if (changed || module_.identity->has(Family::kLabels)) module_.changed(SupervisorEvent::kLabels);
}

}  // namespace cardcage
