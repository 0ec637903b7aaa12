#include "host/metrics/module_series.h"

#include <charconv>
#include <map>
#include <unordered_map>

namespace cardcage {
namespace {

// The host's labels of each device of a module, by id; those of the module itself have an empty one.
using HostLabels = std::unordered_map<std::string_view, std::string>;

struct ModuleSeries {
  const CollectedMetrics* collected;
  HostLabels labels;
  std::vector<std::vector<const MetricSample*>> by_metric;
  std::uint64_t shown = 0;
};
// One metric name; several modules may declare it.
struct Family {
  const MetricDeclaration* declared;
  std::vector<std::pair<ModuleSeries*, std::uint32_t>> members;  // and the metric's index there
};

void append_escaped(std::string& page, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\')
      page += "\\\\";
    else if (c == '\n')
      page += "\\n";
    else if (c == '"' && quotes)
      page += "\\\"";
    else
      page += c;
  }
}

void append_label(std::string& labels, std::string_view name, std::string_view value) {
  if (value.empty()) return;  // the same for Prometheus
  if (!labels.empty()) labels += ',';
  labels += name;
  labels += "=\"";
  append_escaped(labels, value, true);
  labels += '"';
}

void append_number(std::string& page, double value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value);
  page.append(std::begin(text), end.ptr);
}

std::string host_labels(const std::string& module, const DeviceReport* device) {
  std::string labels;
  append_label(labels, "module", module);
  if (device == nullptr) return labels;
  append_label(labels, "device", device->device.name);
  if (!device->user) return labels;
  append_label(labels, "namespace", device->user->name_space);
  append_label(labels, "pod", device->user->pod);
  append_label(labels, "container", device->user->container);
  append_label(labels, "claim", device->user->claim);
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
  for (const MetricSample* const sample : series.by_metric[metric]) {
    const auto labels = series.labels.find(sample->device_id);
    if (labels == series.labels.end()) continue;
    ++series.shown;
    page += metric_prefix(declared.name);
    page += declared.name;
    page += '{';
    page += labels->second;
    for (std::size_t i = 0; i < sample->labels.size(); ++i) {
      if (sample->labels[i].empty()) continue;
      page += ',';
      page += declared.labels[i];
      page += "=\"";
      append_escaped(page, sample->labels[i], true);
      page += '"';
    }
    page += "} ";
    append_number(page, sample->value);
    page += '\n';
  }
}

void append_head(std::string& page, std::string_view name, std::string_view help, MetricType type) {
  page += fmt::format("# HELP {} ", name);
  append_escaped(page, help, false);
  page += fmt::format("\n# TYPE {} {}\n", name, type == MetricType::kCounter ? "counter" : "gauge");
}

template <class Value>
void append_of_modules(std::string& page, std::string_view name, std::string_view help, MetricType type,
                       const std::vector<ModuleSeries>& all, Value value) {
  append_head(page, name, help, type);
  for (const ModuleSeries& series : all) {
    page += fmt::format("{}{{{}}} ", name, series.labels.at(""));
    append_number(page, value(series));
    page += '\n';
  }
}

void append_collections(std::string& page, const std::vector<ModuleSeries>& all) {
  append_of_modules(page, "cardcage_module_samples", "samples of the last collection that are shown",
                    MetricType::kGauge, all, [](const auto& one) { return static_cast<double>(one.shown); });
  append_of_modules(page, "cardcage_module_samples_left_out",
                    "samples of the last collection that are not shown, because they break a rule", MetricType::kGauge,
                    all, [](const auto& one) {
                      const MetricSamples* const samples = one.collected->samples.get();
                      if (samples == nullptr) return 0.0;
                      return static_cast<double>(samples->left_out.count + samples->samples.size() - one.shown);
                    });
  append_of_modules(page, "cardcage_module_collected_timestamp_seconds",
                    "time of the last collection that succeeded, in Unix seconds", MetricType::kGauge, all,
                    [](const auto& one) {
                      return std::chrono::duration<double>(one.collected->collected.time_since_epoch()).count();
                    });
  append_of_modules(page, "cardcage_module_collect_failures_total",
                    "collections that the running instance failed or did not end in time", MetricType::kCounter, all,
                    [](const auto& one) { return static_cast<double>(one.collected->failures); });
}

}  // namespace

std::string module_series(const std::vector<CollectedMetrics>& collected, const std::vector<DeviceReport>& devices) {
  if (collected.empty()) return "";
  std::vector<ModuleSeries> all;
  std::map<std::string_view, Family> families;
  for (const CollectedMetrics& one : collected) all.push_back(sorted_by_metric(one, devices));
  for (ModuleSeries& series : all) {
    const auto& declared = *series.collected->declared;
    for (std::uint32_t metric = 0; metric < declared.size(); ++metric) {
      if (series.by_metric[metric].empty()) continue;
      Family& family = families.try_emplace(declared[metric].name, Family{&declared[metric], {}}).first->second;
      if (family.declared->type == declared[metric].type) family.members.emplace_back(&series, metric);
    }
  }
  std::string page;
  for (const auto& [name, family] : families) {
    append_head(page, fmt::format("{}{}", metric_prefix(name), name), family.declared->help, family.declared->type);
    for (const auto& [series, metric] : family.members)
      append_samples(page, (*series->collected->declared)[metric], *series, metric);
  }
  append_collections(page, all);
  return page;
}

}  // namespace cardcage
