#include <boost/algorithm/hex.hpp>
#include <boost/json/parse.hpp>

#include "host/cdi/edits_json.h"
#include "host/ledger/record.h"

namespace cardcage {

static void write_json(std::string& out, const Quantity& quantity) { write_json(out, quantity.to_string()); }
static bool from_json_value(const json::value& json, Quantity& quantity) {
  if (!json.is_string()) return false;
  auto parsed = Quantity::parse(std::string_view(json.get_string()));
  if (parsed) quantity = *parsed;
  return parsed.has_value();
}

// An option's value keeps its type: text, number, truth value, list or map.
static void write_option(std::string& out, const OptionValue& option) {
  std::visit([&](const auto& value) { write_json(out, value); }, option);
}
static bool option_from_json(const json::value& json, OptionValue& option) {
  if (json.is_string()) return from_json_value(json, option.emplace<std::string>());
  if (json.is_int64()) return from_json_value(json, option.emplace<std::int64_t>());
  if (json.is_bool()) return from_json_value(json, option.emplace<bool>());
  if (json.is_object()) return from_json_value(json, option.emplace<TextMap>());
  return from_json_value(json, option.emplace<std::vector<std::string>>());
}
static void write_json(std::string& out, const OptionValues::Entry& entry) {
  out += '{';
  FieldWriter writer(out);
  writer.key("value");
  write_option(out, entry.value);
  writer("given", entry.given);
  writer("source", entry.source);
  out += '}';
}
static bool from_json_value(const json::value& json, OptionValues::Entry& entry) {
  const json::object* object = json.if_object();
  const json::value* value = object ? object->if_contains("value") : nullptr;
  const json::value* given = object ? object->if_contains("given") : nullptr;
  const json::value* source = object ? object->if_contains("source") : nullptr;
  return value && option_from_json(*value, entry.value) && (!given || from_json_value(*given, entry.given)) &&
         (!source || from_json_value(*source, entry.source));
}
static void write_json(std::string& out, const OptionValues& values) { write_json(out, values.entries); }
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
void describe(Fields& fields, DeviceCondition& condition) {
  fields("type", condition.type);
  fields("status", condition.status);
  fields("reason", condition.reason);
  fields("message", condition.message);
  fields("sinceMs", condition.since);
}

template <class Fields>
void describe(Fields& fields, NetworkData& network) {
  fields("interfaceName", network.interface_name);
  fields("ips", network.ips);
  fields("hardwareAddress", network.hardware_address);
}

template <class Fields>
void describe(Fields& fields, MetadataFile& file) {
  fields("request", file.request);
  fields("hostPath", file.host_path);
  fields("containerPath", file.container_path);
  fields("generation", file.generation);
  fields("content", file.content);
}

template <class Fields>
void describe(Fields& fields, HeldDevice& device) {
  fields("allocation", device.allocation);
  fields("id", device.device_id);
  fields("cdiName", device.cdi_name);
  fields("values", device.values);
  fields("paramsKind", device.values.kind);
  fields("edits", device.edits);
  fields("holders", device.holders);
  fields("conditions", device.conditions);
  fields("statusData", device.status_data);
  fields("network", device.network);
}

template <class Fields>
void describe(Fields& fields, ModuleParams& params) {
  fields("source", params.source);
  fields("requests", params.requests);
  fields("json", params.json);
}

// Describes a module's bytes, which are in hex in JSON.
static void describe_bytes(FieldWriter& writer, std::string_view name, const std::string& bytes) {
  writer(name, boost::algorithm::hex_lower(bytes));
}
static void describe_bytes(FieldReader& reader, std::string_view name, std::string& bytes) {
  std::string hex;
  reader(name, hex);
  try {
    bytes = boost::algorithm::unhex(hex);
  } catch (const boost::algorithm::hex_decode_error&) {
    reader.ok = false;
  }
}

namespace {

// A part without the members that have columns of their own in the ledger.
struct PartContent {
  ModulePart& part;
};

}  // namespace

template <class Fields>
void describe(Fields& fields, PartContent& content) {
  ModulePart& part = content.part;
  fields("devices", part.devices);
  fields("params", part.params);
  fields("edits", part.edits);
  fields("stateOfOtherBoot", part.state_of_other_boot);
  fields("metadata", part.metadata);
  fields("unseenPaths", part.unseen_paths);
  fields("moduleId", part.module_id);
  describe_bytes(fields, "journal", part.journal);
}

template <class Fields>
void describe(Fields& fields, ModulePart& part) {
  PartContent content{part};
  describe(fields, content);
  fields("module", part.module);
  describe_bytes(fields, "state", part.state);
  fields("stateVersion", part.state_version);
}

template <class Fields>
void describe(Fields& fields, ClaimRecord& record) {
  fields("driver", record.driver);
  fields("namespace", record.ref.name_space);
  fields("name", record.ref.name);
  fields("uid", record.ref.uid);
  fields("phase", record.phase);
  fields("bootId", record.boot_id);
  fields("begunMs", record.begun);
  fields("preparedMs", record.prepared);
  fields("parts", record.parts);
}

template <class T>
static Status read_json(std::string_view text, T& value) {
  boost::system::error_code error;
  const json::value parsed = json::parse(text, error);
  if (error) return fail(Code::kDataLoss, "the record of a claim is not JSON");
  if (!from_json_value(parsed, value)) return fail(Code::kDataLoss, "the record of a claim is not readable");
  return {};
}

std::string part_to_json(const ModulePart& part) {
  return to_json_text(PartContent{const_cast<ModulePart&>(part)});  // the writer only reads
}

Result<ModulePart> part_from_json(std::string_view text) {
  ModulePart part;
  PartContent content{part};
  if (auto read = read_json(text, content); !read) return std::unexpected(read.error());
  return part;
}

std::string record_to_json(const ClaimRecord& record) { return to_json_text(record); }

Result<ClaimRecord> record_from_json(std::string_view text) {
  ClaimRecord record;
  if (auto read = read_json(text, record); !read) return std::unexpected(read.error());
  if (record.driver.empty() || record.ref.uid.empty() || record.phase < ClaimPhase::kPreparing ||
      record.phase > ClaimPhase::kBinding)
    return fail(Code::kDataLoss, "the record of a claim lacks its driver, its UID or its phase");
  return record;
}

}  // namespace cardcage
