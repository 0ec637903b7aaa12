#include "host/metrics/module_series.h"

#include <map>
#include <unordered_map>

#include "host/metrics/text_format.h"

namespace cardcage {
namespace {

// The host's labels for each device of a module, by id; the empty id stands for the module itself.
using HostLabels = std::unordered_map<std::string_view, std::string>;

struct ModuleSeries {
  const CollectedMetrics* collected;
  HostLabels labels;
  std::vector<std::vector<const MetricSample*>> by_metric;
  std::uint64_t shown = 0;
};
// One metric name, which several modules may declare.
struct SharedMetric {
  const MetricDeclaration* declared;
  std::vector<std::pair<ModuleSeries*, std::uint32_t>> members;  // module and index of the metric in it
};

// Prometheus treats an empty value like a missing label.
void append_optional_label(std::string& labels, std::string_view name, std::string_view value) {
  if (!value.empty()) append_label(labels, name, value);
}

std::string host_labels(const std::string& module, const DeviceReport* device) {
  std::string labels;
  append_optional_label(labels, "module", module);
  if (device == nullptr) return labels;
  append_optional_label(labels, "device", device->device.name);
  if (!device->user) return labels;
  append_optional_label(labels, "namespace", device->user->name_space);
  append_optional_label(labels, "pod", device->user->pod);
  append_optional_label(labels, "container", device->user->container);
  append_optional_label(labels, "claim", device->user->claim);
  return labels;
}

ModuleSeries sorted_by_metric(const CollectedMetrics& collected, const std::vector<DeviceReport>& devices) {
  ModuleSeries series{&collected, {}, {}, 0};
  series.labels.emplace("", host_labels(collected.module, nullptr));
  for (const DeviceReport& device : devices)
    if (device.module == collected.module) series.labels[device.device.id] = host_labels(collected.module, &device);
  series.by_metric.resize(collected.declared->size());
  if (!collected.samples) return series;
  for (const MetricSample& sample : collected.samples->samples)
    if (sample.metric < series.by_metric.size() &&
        sample.labels.size() == (*collected.declared)[sample.metric].labels.size())
      series.by_metric[sample.metric].push_back(&sample);
  return series;
}

void append_samples(std::string& page, const MetricDeclaration& declared, ModuleSeries& series, std::uint32_t metric) {
  std::string labels;
  for (const MetricSample* const sample : series.by_metric[metric]) {
    const auto known = series.labels.find(sample->device_id);
    if (known == series.labels.end()) continue;
    ++series.shown;
    labels = known->second;
    for (std::size_t i = 0; i < sample->labels.size(); ++i)
      append_optional_label(labels, declared.labels[i], sample->labels[i]);
    page += metric_prefix(declared.name);
    page += declared.name;
    page += '{';
    page += labels;
    page += "} ";
    append_value(page, sample->value);
    page += '\n';
  }
}

FamilyType family_type(MetricType type) {
  return type == MetricType::kCounter ? FamilyType::kCounter : FamilyType::kGauge;
}

template <class Value>
void append_of_modules(std::string& page, std::string_view name, std::string_view help, FamilyType type,
                       const std::vector<ModuleSeries>& all, Value value) {
  append_head(page, name, help, type);
  for (const ModuleSeries& series : all) {
    page += fmt::format("{}{{{}}} ", name, series.labels.at(""));
    append_value(page, value(series));
    page += '\n';
  }
}

void append_collections(std::string& page, const std::vector<ModuleSeries>& all) {
  append_of_modules(page, "cardcage_module_samples", "samples of the last collection that are shown",
                    FamilyType::kGauge, all, [](const auto& one) { return static_cast<double>(one.shown); });
  append_of_modules(page, "cardcage_module_samples_left_out",
                    "samples of the last collection that are not shown, because they break a rule", FamilyType::kGauge,
                    all, [](const auto& one) {
                      const MetricSamples* const samples = one.collected->samples.get();
                      if (samples == nullptr) return 0.0;
                      return static_cast<double>(samples->left_out.count + samples->samples.size() - one.shown);
                    });
  append_of_modules(page, "cardcage_module_collected_timestamp_seconds",
                    "time of the last collection that succeeded, in Unix seconds", FamilyType::kGauge, all,
                    [](const auto& one) {
                      return std::chrono::duration<double>(one.collected->collected.time_since_epoch()).count();
                    });
  append_of_modules(page, "cardcage_module_collect_failures_total",
                    "collections that the running instance failed or did not end in time", FamilyType::kCounter, all,
                    [](const auto& one) { return static_cast<double>(one.collected->failures); });
}

}  // namespace

std::string module_series(const std::vector<CollectedMetrics>& collected, const std::vector<DeviceReport>& devices) {
  if (collected.empty()) return "";
  std::vector<ModuleSeries> all;
  std::map<std::string_view, SharedMetric> families;
  for (const CollectedMetrics& one : collected) all.push_back(sorted_by_metric(one, devices));
  for (ModuleSeries& series : all) {
    const auto& declared = *series.collected->declared;
    for (std::uint32_t metric = 0; metric < declared.size(); ++metric) {
      if (series.by_metric[metric].empty()) continue;
      SharedMetric& family =
          families.try_emplace(declared[metric].name, SharedMetric{&declared[metric], {}}).first->second;
      if (family.declared->type == declared[metric].type) family.members.emplace_back(&series, metric);
    }
  }
  std::string page;
  for (const auto& [name, family] : families) {
    append_head(page, fmt::format("{}{}", metric_prefix(name), name), family.declared->help,
                family_type(family.declared->type));
    for (const auto& [series, metric] : family.members)
      append_samples(page, (*series->collected->declared)[metric], *series, metric);
  }
  append_collections(page, all);
  return page;
}

}  // namespace cardcage
