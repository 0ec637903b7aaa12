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

template <class Fields>
void describe(Fields& fields, ModulePart& part) {
  fields("devices", part.devices);
  fields("params", part.params);
  fields("edits", part.edits);
  fields("stateOfOtherBoot", part.state_of_other_boot);
  fields("metadata", part.metadata);
  fields("unseenPaths", part.unseen_paths);
  fields("moduleId", part.module_id);
}

// Describes a record without its parts, which carry more than the ledger's own rows of them.
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
}

namespace {

// The module's bytes, in hex in JSON.
struct PartJournal {
  std::string journal;
};

template <class Fields>
void describe(Fields& fields, PartJournal& part) {
  fields("journal", part.journal);
}

// The members of a part that have columns of their own in the ledger.
struct PartExtras {
  std::string module;
  std::string state;  // the module's bytes in hex
  std::uint32_t state_version = 0;
};

template <class Fields>
void describe(Fields& fields, PartExtras& extras) {
  fields("module", extras.module);
  fields("state", extras.state);
  fields("stateVersion", extras.state_version);
}

template <class T>
Status read_json(const json::value& json, T& value) {
  if (!from_json_value(json, value)) return fail(Code::kDataLoss, "the record of a claim is not readable");
  return {};
}

Result<json::value> parse(std::string_view text) {
  boost::system::error_code error;
  json::value parsed = json::parse(text, error);
  if (error) return fail(Code::kDataLoss, "the record of a claim is not JSON");
  return parsed;
}

Status read_hex(const std::string& hex, std::string& bytes, std::string_view what) {
  try {
    bytes = boost::algorithm::unhex(hex);
    return {};
  } catch (const boost::algorithm::hex_decode_error&) {
    return fail(Code::kDataLoss, "the {} that a module wrote is not readable", what);
  }
}

void write_content(FieldWriter& writer, const ModulePart& part) {
  describe(writer, const_cast<ModulePart&>(part));
  PartJournal journal{boost::algorithm::hex_lower(part.journal)};
  describe(writer, journal);
}

Result<ModulePart> read_content(const json::value& json) {
  ModulePart part;
  PartJournal journal;
  auto read = read_json(json, part);
  if (read) read = read_json(json, journal);
  if (read) read = read_hex(journal.journal, part.journal, "journal");
  if (!read) return std::unexpected(read.error());
  return part;
}

Result<ModulePart> read_part(const json::value& json) {
  auto part = read_content(json);
  if (!part) return part;
  PartExtras extras;
  auto read = read_json(json, extras);
  if (read) read = read_hex(extras.state, part->state, "state");
  if (!read) return std::unexpected(read.error());
  part->module = std::move(extras.module);
  part->state_version = extras.state_version;
  return part;
}

}  // namespace

std::string part_to_json(const ModulePart& part) {
  std::string out = "{";
  FieldWriter writer(out);
  write_content(writer, part);
  return out + "}";
}

Result<ModulePart> part_from_json(std::string_view text) {
  const auto parsed = parse(text);
  if (!parsed) return std::unexpected(parsed.error());
  return read_content(*parsed);
}

std::string record_to_json(const ClaimRecord& record) {
  std::string out = "{";
  FieldWriter writer(out);
  describe(writer, const_cast<ClaimRecord&>(record));
  for (const ModulePart& part : record.parts) {
    if (&part == record.parts.data()) writer.key("parts");
    out += &part == record.parts.data() ? "[{" : ",{";
    FieldWriter members(out);
    write_content(members, part);
    PartExtras extras{part.module, boost::algorithm::hex_lower(part.state), part.state_version};
    describe(members, extras);
    out += '}';
  }
  out += record.parts.empty() ? "}" : "]}";
  return out;
}

Result<ClaimRecord> record_from_json(std::string_view text) {
  const auto parsed = parse(text);
  if (!parsed) return std::unexpected(parsed.error());
  ClaimRecord record;
  if (auto read = read_json(*parsed, record); !read) return std::unexpected(read.error());
  if (const json::value* const parts = parsed->get_object().if_contains("parts")) {
    if (!parts->is_array()) return fail(Code::kDataLoss, "the record of a claim is not readable");
    for (const json::value& one : parts->get_array()) {
      auto part = read_part(one);
      if (!part) return std::unexpected(part.error());
      record.parts.push_back(std::move(*part));
    }
  }
  if (record.driver.empty() || record.ref.uid.empty() || record.phase < ClaimPhase::kPreparing ||
      record.phase > ClaimPhase::kBinding)
    return fail(Code::kDataLoss, "the record of a claim lacks its driver, its UID or its phase");
  return record;
}

}  // namespace cardcage
