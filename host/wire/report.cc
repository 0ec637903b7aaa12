// Samples, labels and catalogues.
#include <algorithm>

#include "host/model/attribute_limits.h"
#include "host/model/naming.h"
#include "host/model/text_rules.h"
#include "host/wire/messages.h"

namespace cardcage {
namespace {

bool is_attribute_text(std::string_view text) { return text.size() <= kMaxAttributeText && is_utf8(text); }

// The worker enforces these rules as well, unless the module has overwritten its memory.
bool keeps_rules(const wire::CatalogueEntry& entry) {
  std::size_t values = 0;
  for (const wire::AttributeValue& attribute : entry.attributes()) {
    const auto& texts = attribute.texts();
    const auto& versions = attribute.versions();
    if (!is_qualified_name(attribute.name()) || !std::ranges::all_of(texts, is_attribute_text) ||
        !std::ranges::all_of(versions, is_semver))
      return false;
    values +=
        static_cast<std::size_t>(attribute.integers_size() + attribute.flags_size() + texts.size() + versions.size());
  }
  return is_dns_label(entry.kind()) && is_entry_name(entry.name()) && values <= kMaxAttributeValues &&
         static_cast<std::size_t>(entry.attributes_size()) <= kMaxAttributes;
}

Result<CatalogueEntry> read_entry(const wire::CatalogueEntry& from) {
  auto attributes = read(from.attributes());
  if (!attributes) return within(attributes.error(), "catalogue entry '{}'", from.name());
  return CatalogueEntry{.kind = from.kind(),
                        .name = from.name(),
                        .refused = from.refused(),
                        .detail = printable(from.detail(), kMaxEntryDetail),
                        .attributes = std::move(*attributes)};
}

std::size_t size_of(const CatalogueEntry& entry) {
  return entry.kind.size() + entry.name.size() + entry.detail.size() + size_of(entry.attributes);
}

void leave_out(const std::string& name, LeftOut& left_out) {
  if (++left_out.count == 1)
    left_out.first = fmt::format(
        "catalogue entry '{}' breaks a rule that the worker keeps: has the module overwritten "
        "the worker's memory?",
        printable(name, 253));
}

}  // namespace

static LeftOut read(const wire::LeftOut& from) { return {from.count(), printable(from.first(), 1024)}; }

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

// The worker enforces these rules as well, unless the module has overwritten its memory.
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
  if (from.has_left_out()) to.left_out = read(from.left_out());
  std::size_t text = 0;
  for (const CatalogueEntry& entry : to.entries) text += size_of(entry);
  for (const wire::CatalogueEntry& in : from.entries()) {
    if (to.entries.size() == kMaxCatalogueEntries || !keeps_rules(in)) {
      leave_out(in.name(), to.left_out);
      continue;
    }
    auto entry = read_entry(in);
    if (!entry) return std::unexpected(std::move(entry.error()));
    text += size_of(*entry);
    if (text <= kMaxCatalogueText)
      to.entries.push_back(std::move(*entry));
    else
      leave_out(in.name(), to.left_out);
  }
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
