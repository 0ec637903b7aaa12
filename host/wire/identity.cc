// Identities and options.
#include <algorithm>
#include <set>

#include "host/model/text_rules.h"
#include "host/wire/messages.h"

namespace cardcage {
namespace {

using Declarations = google::protobuf::RepeatedPtrField<wire::OptionDeclaration>;

bool are_labels(const google::protobuf::RepeatedPtrField<std::string>& names) {
  const std::set<std::string_view> different(names.begin(), names.end());
  return std::ranges::all_of(names, is_metric_label) && static_cast<int>(different.size()) == names.size();
}

}  // namespace

static void write(const std::vector<OptionDeclaration>& from, Declarations& to) {
  for (const OptionDeclaration& declaration : from) {
    wire::OptionDeclaration& out = *to.Add();
    out.set_name(declaration.name);
    out.set_type(static_cast<std::uint32_t>(declaration.type));
    out.set_required(declaration.required);
    out.set_secret(declaration.secret);
    out.set_live(declaration.live);
    out.set_class_only(declaration.class_only);
    out.set_quantity(declaration.quantity);
    out.set_objects(declaration.objects);
    out.set_default_text(declaration.default_text);
    out.set_help(declaration.help);
    write(declaration.choices, *out.mutable_choices());
    out.set_min(declaration.min);
    out.set_max(declaration.max);
  }
}

static std::vector<OptionDeclaration> read(const Declarations& from) {
  std::vector<OptionDeclaration> declarations;
  for (const wire::OptionDeclaration& in : from) {
    const auto type = std::clamp(in.type(), 1u, static_cast<std::uint32_t>(OptionType::kMap));
    declarations.push_back({.name = in.name(),
                            .type = static_cast<OptionType>(type),
                            .required = in.required(),
                            .secret = in.secret(),
                            .live = in.live(),
                            .class_only = in.class_only(),
                            .quantity = in.quantity(),
                            .objects = in.objects(),
                            .default_text = in.default_text(),
                            .help = in.help(),
                            .choices = read(in.choices()),
                            .min = in.min(),
                            .max = in.max()});
  }
  return declarations;
}

// The names become part of the metrics page, so they are checked again.
static std::vector<MetricDeclaration> read(const google::protobuf::RepeatedPtrField<wire::MetricDeclaration>& from) {
  std::vector<MetricDeclaration> metrics;
  for (const wire::MetricDeclaration& in : from) {
    const bool is_known = std::ranges::find(metrics, in.name(), &MetricDeclaration::name) != metrics.end();
    if (is_known || !is_metric_name(in.name()) || !is_line(in.help()) || !are_labels(in.labels())) return {};
    metrics.push_back({.type = in.type() == 2 ? MetricType::kCounter : MetricType::kGauge,
                       .name = in.name(),
                       .help = in.help(),
                       .labels = read(in.labels())});
  }
  return metrics;
}

static void write(const std::vector<ParamsSchema>& from, google::protobuf::RepeatedPtrField<wire::ParamsSchema>& to) {
  for (const ParamsSchema& schema : from) {
    wire::ParamsSchema& out = *to.Add();
    out.set_api_version(schema.api_version);
    out.set_kind(schema.kind);
    write(schema.fields, *out.mutable_fields());
    write(schema.device_kinds, *out.mutable_device_kinds());
    out.set_raw(schema.raw);
    out.set_whole(schema.whole);
    out.set_is_default(schema.is_default);
  }
}

static std::vector<ParamsSchema> read(const google::protobuf::RepeatedPtrField<wire::ParamsSchema>& from) {
  std::vector<ParamsSchema> schemas;
  for (const wire::ParamsSchema& in : from)
    schemas.push_back({.api_version = in.api_version(),
                       .kind = in.kind(),
                       .fields = read(in.fields()),
                       .device_kinds = read(in.device_kinds()),
                       .raw = in.raw(),
                       .whole = in.whole(),
                       .is_default = in.is_default()});
  return schemas;
}

void write(const ModuleIdentity& from, wire::Identity& to) {
  to.set_id(from.id);
  to.set_version(from.version);
  to.set_vendor(from.vendor);
  to.set_abi_major(from.abi.major);
  to.set_abi_minor(from.abi.minor);
  to.set_state_version(from.state_version);
  to.set_process_only(from.process_only);
  to.set_concurrent(from.concurrent);
  to.set_no_prepare(from.no_prepare);
  to.set_has_check(from.has_check);
  to.set_has_quiesce(from.has_quiesce);
  to.set_families(from.families.bits());
  to.set_claim_call_limit_seconds(static_cast<std::uint32_t>(from.claim_call_limit.count()));
  write(from.options, *to.mutable_options());
  write(from.schemas, *to.mutable_schemas());
  for (const MetricDeclaration& metric : from.metrics) {
    wire::MetricDeclaration& out = *to.add_metrics();
    out.set_type(static_cast<std::uint32_t>(metric.type));
    out.set_name(metric.name);
    out.set_help(metric.help);
    write(metric.labels, *out.mutable_labels());
  }
  write(from.causes, *to.mutable_causes());
  if (from.watch) write(*from.watch, *to.mutable_watch());
}

ModuleIdentity read(const wire::Identity& from) {
  ModuleIdentity identity{
      .id = from.id(),
      .version = from.version(),
      .vendor = from.vendor(),
      .abi = {from.abi_major(), from.abi_minor()},
      .state_version = from.state_version(),
      .process_only = from.process_only(),
      .concurrent = from.concurrent(),
      .no_prepare = from.no_prepare(),
      .has_check = from.has_check(),
      .has_quiesce = from.has_quiesce(),
      .families = FamilySet(from.families()),
      .options = read(from.options()),
      .schemas = read(from.schemas()),
      .metrics = read(from.metrics()),
      .causes = read(from.causes()),
      .watch = from.has_watch() ? std::optional(read(from.watch())) : std::nullopt,
      .claim_call_limit = std::min(std::chrono::seconds(from.claim_call_limit_seconds()), kMaxClaimCallLimit),
      .sha256 = {}};
  if (identity.metrics.empty()) identity.families.remove(Family::kMetrics);
  return identity;
}

static void write(const TextMap& from, wire::TextMap& to) {
  for (const auto& [key, value] : from) {
    to.add_keys(key);
    to.add_values(value);
  }
}

static TextMap read(const wire::TextMap& from) {
  TextMap entries;
  for (int i = 0; i < std::min(from.keys_size(), from.values_size()); ++i) entries[from.keys(i)] = from.values(i);
  return entries;
}

void write(const OptionValues& from, google::protobuf::RepeatedPtrField<wire::OptionValue>& to) {
  for (const auto& [name, entry] : from.entries) {
    wire::OptionValue& out = *to.Add();
    out.set_name(name);
    out.set_given(entry.given);
    if (const auto* text = std::get_if<std::string>(&entry.value)) out.set_text(*text);
    if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) out.set_integer(*integer);
    if (const auto* flag = std::get_if<bool>(&entry.value)) out.set_flag(*flag);
    if (const auto* list = std::get_if<std::vector<std::string>>(&entry.value))
      write(*list, *out.mutable_list()->mutable_texts());
    if (const auto* map = std::get_if<TextMap>(&entry.value)) write(*map, *out.mutable_map());
    if (entry.source) out.set_source(static_cast<std::uint32_t>(*entry.source));
  }
}

OptionValues read(const google::protobuf::RepeatedPtrField<wire::OptionValue>& from) {
  OptionValues values;
  for (const wire::OptionValue& in : from) {
    OptionValues::Entry& entry = values.entries[in.name()];
    entry.given = in.given();
    switch (in.value_case()) {
      case wire::OptionValue::kInteger: entry.value = std::int64_t{in.integer()}; break;
      case wire::OptionValue::kFlag: entry.value = in.flag(); break;
      case wire::OptionValue::kList: entry.value = read(in.list().texts()); break;
      case wire::OptionValue::kMap: entry.value = read(in.map()); break;
      default: entry.value = in.text();
    }
    if (in.has_source()) entry.source = in.source() == 0 ? ConfigSource::kClass : ConfigSource::kClaim;
  }
  return values;
}

void write(const std::vector<std::string>& from, google::protobuf::RepeatedPtrField<std::string>& to) {
  to.Add(from.begin(), from.end());
}

std::vector<std::string> read(const google::protobuf::RepeatedPtrField<std::string>& from) {
  return {from.begin(), from.end()};
}

}  // namespace cardcage
