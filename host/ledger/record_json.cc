#include <boost/algorithm/hex.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "host/cdi/edits_json.h"
#include "host/ledger/record.h"

namespace cardcage {

static json::value to_json_value(const Quantity& quantity) { return json::string(quantity.to_string()); }
static bool from_json_value(const json::value& json, Quantity& quantity) {
  if (!json.is_string()) return false;
  auto parsed = Quantity::parse(std::string_view(json.get_string()));
  if (parsed) quantity = *parsed;
  return parsed.has_value();
}

// An option's value keeps its type: text, number, truth value or list.
static json::value option_to_json(const OptionValue& option) {
  return std::visit([](const auto& value) { return to_json_value(value); }, option);
}
static bool option_from_json(const json::value& json, OptionValue& option) {
  if (json.is_string()) return from_json_value(json, option.emplace<std::string>());
  if (json.is_int64()) return from_json_value(json, option.emplace<std::int64_t>());
  if (json.is_bool()) return from_json_value(json, option.emplace<bool>());
  return from_json_value(json, option.emplace<std::vector<std::string>>());
}
static json::value to_json_value(const OptionValues::Entry& entry) {
  json::object object;
  object["value"] = option_to_json(entry.value);
  if (entry.given) object["given"] = true;
  return object;
}
static bool from_json_value(const json::value& json, OptionValues::Entry& entry) {
  const json::object* object = json.if_object();
  const json::value* value = object ? object->if_contains("value") : nullptr;
  const json::value* given = object ? object->if_contains("given") : nullptr;
  return value && option_from_json(*value, entry.value) && (!given || from_json_value(*given, entry.given));
}
static json::value to_json_value(const OptionValues& values) { return to_json_value(values.entries); }
static bool from_json_value(const json::value& json, OptionValues& values) {
  return from_json_value(json, values.entries);
}

template <class Fields>
void describe(Fields& fields, Holder& holder) {
  fields("id", holder.id);
  fields("namespace", holder.name_space);
  fields("pod", holder.pod);
  fields("container", holder.container);
  fields("sinceMs", holder.since);
}

template <class Fields>
void describe(Fields& fields, Allocation& allocation) {
  fields("request", allocation.request);
  fields("driver", allocation.driver);
  fields("pool", allocation.pool);
  fields("device", allocation.device);
  fields("adminAccess", allocation.admin_access);
  fields("shareID", allocation.share_id);
  fields("consumedCapacity", allocation.consumed_capacity);
}

template <class Fields>
void describe(Fields& fields, HeldDevice& device) {
  fields("allocation", device.allocation);
  fields("id", device.device_id);
  fields("cdiName", device.cdi_name);
  fields("values", device.values);
  fields("edits", device.edits);
  fields("holders", device.holders);
}

template <class Fields>
void describe(Fields& fields, ModuleParams& params) {
  fields("source", params.source);
  fields("requests", params.requests);
  fields("json", params.json);
}

template <class Fields>
void describe(Fields& fields, ModulePart& part) {
  fields("devices", part.devices);
  fields("params", part.params);
  fields("edits", part.edits);
}

namespace {

struct WholePart {
  ModulePart part;
  std::string state;  // the module's bytes in hex
  friend bool operator==(const WholePart&, const WholePart&) = default;
};

template <class Fields>
void describe(Fields& fields, WholePart& whole) {
  describe(fields, whole.part);
  fields("module", whole.part.module);
  fields("state", whole.state);
  fields("stateVersion", whole.part.state_version);
}

struct WholeRecord {
  ClaimRecord record;
  std::vector<WholePart> parts;
};

template <class Fields>
void describe(Fields& fields, WholeRecord& whole) {
  ClaimRecord& record = whole.record;
  fields("driver", record.driver);
  fields("namespace", record.ref.name_space);
  fields("name", record.ref.name);
  fields("uid", record.ref.uid);
  fields("phase", record.phase);
  fields("bootId", record.boot_id);
  fields("begunMs", record.begun);
  fields("preparedMs", record.prepared);
  fields("parts", whole.parts);
}

template <class T>
Result<T> parse(std::string_view text) {
  boost::system::error_code error;
  const json::value parsed = json::parse(text, error);
  T value;
  if (error || !from_json_value(parsed, value))
    return fail(Code::kDataLoss, "what it holds of a claim is not readable");
  return value;
}

}  // namespace

std::string part_to_json(const ModulePart& part) { return json::serialize(to_json_value(part)); }

Result<ModulePart> part_from_json(std::string_view text) { return parse<ModulePart>(text); }

std::string record_to_json(const ClaimRecord& record) {
  WholeRecord whole{record, {}};
  for (ModulePart& part : whole.record.parts) {
    std::string state = boost::algorithm::hex_lower(part.state);
    whole.parts.push_back({std::move(part), std::move(state)});
  }
  return json::serialize(to_json_value(whole));
}

Result<ClaimRecord> record_from_json(std::string_view text) {
  auto whole = parse<WholeRecord>(text);
  if (!whole) return std::unexpected(whole.error());
  ClaimRecord& record = whole->record;
  for (WholePart& whole_part : whole->parts) {
    ModulePart& part = record.parts.emplace_back(std::move(whole_part.part));
    try {
      part.state = boost::algorithm::unhex(whole_part.state);
    } catch (const boost::algorithm::hex_decode_error&) {
      return fail(Code::kDataLoss, "the state that module '{}' saved is not readable", part.module);
    }
  }
  if (record.driver.empty() || record.ref.uid.empty() || record.phase < ClaimPhase::kPreparing ||
      record.phase > ClaimPhase::kUnpreparing)
    return fail(Code::kDataLoss, "it does not say what it is about");
  return std::move(record);
}

}  // namespace cardcage
