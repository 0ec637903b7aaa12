// Samples, labels and catalogues.
#include <algorithm>

#include "host/model/naming.h"
#include "host/model/text_rules.h"
#include "host/wire/messages.h"

namespace cardcage {
namespace {

LeftOut read(const wire::LeftOut& from) { return {from.count(), printable(from.first(), 1024)}; }

}  // namespace

void write(const MetricSample& from, wire::Sample& to) {
  to.set_metric(from.metric);
  to.set_device_id(from.device_id);
  write(from.labels, *to.mutable_labels());
  to.set_value(from.value);
}

void write(const LeftOut& from, wire::LeftOut& to) {
  to.set_count(from.count);
  to.set_first(from.first);
}

// The worker keeps these rules, too, unless the module has overwritten its memory.
void read(const wire::SamplesPart& from, MetricSamples& to) {
  for (const wire::Sample& in : from.samples()) {
    if (to.samples.size() == kMaxSamples) break;
    MetricSample& sample =
        to.samples.emplace_back(MetricSample{in.metric(), in.device_id(), read(in.labels()), in.value()});
    if (!std::ranges::all_of(sample.labels, is_utf8)) to.samples.pop_back();
  }
  if (from.has_left_out()) to.left_out = read(from.left_out());
}

void write(const NodeLabels& from, wire::NodeLabels& to) {
  for (const auto& [name, value] : from.values) {
    to.add_names(name);
    to.add_values(value);
  }
  write(from.left_out, *to.mutable_left_out());
}

void write(const CatalogueEntry& from, wire::CatalogueEntry& to) {
  to.set_kind(from.kind);
  to.set_name(from.name);
  to.set_refused(from.refused);
  to.set_detail(from.detail);
  write(from.attributes, *to.mutable_attributes());
}

Status read(const wire::CataloguePart& from, Catalogue& to) {
  for (const wire::CatalogueEntry& in : from.entries()) {
    if (to.entries.size() == kMaxCatalogueEntries) break;
    if (!is_dns_label(in.kind()) || !is_entry_name(in.name())) continue;
    auto attributes = read(in.attributes());
    if (!attributes) return within(attributes.error(), "catalogue entry '{}'", in.name());
    to.entries.push_back({.kind = in.kind(),
                          .name = in.name(),
                          .refused = in.refused(),
                          .detail = printable(in.detail(), kMaxEntryDetail),
                          .attributes = std::move(*attributes)});
  }
  if (from.has_left_out()) to.left_out = read(from.left_out());
  return {};
}

NodeLabels read(const wire::NodeLabels& from) {
  NodeLabels labels;
  labels.left_out = read(from.left_out());
  for (int i = 0; i < std::min(from.names_size(), from.values_size()); ++i)
    if (labels.values.size() < kMaxNodeLabels && is_module_label(from.names(i)) && is_label_value(from.values(i)))
      labels.values.emplace(from.names(i), from.values(i));
  return labels;
}

}  // namespace cardcage
