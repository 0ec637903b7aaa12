#include "host/instance/declared_parts.h"

#include <algorithm>

#include "host/instance/listed_words.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxMetricHelp = 256;

bool is_help(std::string_view text) { return !text.empty() && text.size() <= kMaxMetricHelp && is_line(text); }

Result<std::vector<std::string>> copy_labels(const cage_metric& metric, const std::string& name) {
  const auto given = listed_words(metric.labels, metric.label_count, kMaxMetricLabels, "labels", name);
  if (!given) return std::unexpected(given.error());
  std::vector<std::string> labels;
  for (const cage_str& one : *given) {
    auto label = ruled_text(one, is_metric_label, "label",
                            "a name as [a-zA-Z][a-zA-Z0-9_]* of at most 64 bytes that neither the host nor "
                            "Prometheus uses");
    if (!label) return std::unexpected(std::move(label.error()));
    if (std::ranges::find(labels, *label) != labels.end())
      return fail(Code::kInvalidArgument, "label '{}' is there twice", *label);
    labels.push_back(std::move(*label));
  }
  return labels;
}

Result<MetricDeclaration> copy_metric(const cage_metric* given) {
  const auto metric = adopt(given, "cage_metric");
  if (!metric) return std::unexpected(metric.error());
  MetricDeclaration declaration;
  auto name = ruled_text(metric->name, is_metric_name, "name",
                         "a name as [a-z][a-z0-9_]* or [A-Z][A-Z0-9_]* of at most 64 bytes");
  if (!name) return std::unexpected(std::move(name.error()));
  declaration.name = std::move(*name);
  if (metric->type != CAGE_METRIC_GAUGE && metric->type != CAGE_METRIC_COUNTER)
    return fail(Code::kInvalidArgument, "'{}' has the unknown type {} [R16]", declaration.name, metric->type);
  declaration.type = static_cast<MetricType>(metric->type);
  const bool named_as_counter = declaration.name.ends_with("_total");
  const bool has_prefix = !metric_prefix(declaration.name).empty();
  if (has_prefix && named_as_counter != (declaration.type == MetricType::kCounter))
    return fail(Code::kInvalidArgument, "'{}' is {}: names of counters end in _total, and no others [R17]",
                declaration.name, named_as_counter ? "a gauge" : "a counter");
  auto help = ruled_text(metric->help, is_help, "help", "one line of UTF-8 of 1 to 256 bytes");
  if (!help) return within(help.error(), "'{}'", declaration.name);
  declaration.help = std::move(*help);
  auto labels = copy_labels(*metric, declaration.name);
  if (!labels) return within(labels.error(), "'{}'", declaration.name);
  declaration.labels = std::move(*labels);
  return declaration;
}

}  // namespace

Result<std::vector<MetricDeclaration>> copy_metrics(const cage_metrics& family) {
  const auto given = items_of(family.metrics, family.metric_count, kMaxMetrics, "metrics");
  if (!given) return std::unexpected(given.error());
  std::vector<MetricDeclaration> metrics;
  for (const cage_metric* one : *given) {
    auto metric = copy_metric(one);
    if (!metric) return within(metric.error(), "entry {} of metrics", metrics.size());
    if (std::ranges::find(metrics, metric->name, &MetricDeclaration::name) != metrics.end())
      return fail(Code::kInvalidArgument, "metrics has '{}' twice", metric->name);
    metrics.push_back(std::move(*metric));
  }
  return metrics;
}

}  // namespace cardcage
