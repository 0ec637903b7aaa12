#include "host/cdi/spec.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "host/cdi/edits_json.h"
#include "host/cdi/names.h"

namespace cardcage {

// Fields of the file, in the order of the specification.
template <class Fields>
void describe(Fields& fields, CdiDevice& device) {
  fields("name", device.name);
  fields("containerEdits", device.edits);
}
template <class Fields>
void describe(Fields& fields, CdiSpec& spec) {
  fields("kind", spec.kind);
  fields("containerEdits", spec.edits);
  fields("devices", spec.devices);
}

namespace {

// A host path that equals the path is the default; writing it would only raise the version.
Edits without_defaults(Edits edits) {
  for (DeviceNode& node : edits.device_nodes)
    if (node.host_path == node.path) node.host_path.clear();
  return edits;
}

CdiSpec without_defaults(CdiSpec spec) {
  spec.edits = without_defaults(std::move(spec.edits));
  for (CdiDevice& device : spec.devices) device.edits = without_defaults(std::move(device.edits));
  return spec;
}

template <class Predicate>
bool any_edits(const CdiSpec& spec, Predicate predicate) {
  return predicate(spec.edits) ||
         std::ranges::any_of(spec.devices, [&](const CdiDevice& device) { return predicate(device.edits); });
}

bool starts_with_digit(const CdiDevice& device) {
  return !device.name.empty() && device.name.front() >= '0' && device.name.front() <= '9';
}

Status validate(const CdiSpec& spec) {
  if (!is_cdi_kind(spec.kind)) return fail(Code::kInvalidArgument, "CDI kind '{}' is not vendor/class", spec.kind);
  if (spec.devices.empty()) return fail(Code::kInvalidArgument, "CDI spec '{}' has no device", spec.kind);
  std::set<std::string_view> names;
  for (const CdiDevice& device : spec.devices) {
    if (!is_cdi_device_name(device.name))
      return fail(Code::kInvalidArgument, "CDI device name '{}' may hold only letters, digits and '_-.:'", device.name);
    if (!names.insert(device.name).second)
      return fail(Code::kInvalidArgument, "CDI device name '{}' occurs twice", device.name);
    if (device.edits.empty()) return fail(Code::kInvalidArgument, "CDI device '{}' has no edits", device.name);
  }
  return {};
}

}  // namespace

std::string_view lowest_cdi_version(const CdiSpec& spec) {
  // As in specs-go/version.go of the specification, the newest feature decides. 0.8.0 and 1.0.0 added no field.
  if (any_edits(spec, [](const Edits& edits) { return !edits.net_devices.empty(); })) return "1.1.0";
  if (any_edits(spec, [](const Edits& edits) { return !edits.additional_gids.empty(); })) return "0.7.0";
  const auto slash = spec.kind.find('/');
  if (slash != std::string::npos && spec.kind.find('.', slash) != std::string::npos) return "0.6.0";
  const auto maps_device = [](const Edits& edits) {
    return std::ranges::any_of(edits.device_nodes, [](const DeviceNode& node) { return !node.host_path.empty(); });
  };
  if (any_edits(spec, maps_device) || std::ranges::any_of(spec.devices, starts_with_digit)) return "0.5.0";
  const auto types_mount = [](const Edits& edits) {
    return std::ranges::any_of(edits.mounts, [](const Mount& mount) { return !mount.type.empty(); });
  };
  return any_edits(spec, types_mount) ? "0.4.0" : "0.3.0";
}

Result<std::string> serialize_cdi(const CdiSpec& spec) {
  if (auto valid = validate(spec); !valid) return std::unexpected(valid.error());
  CdiSpec lean = without_defaults(spec);
  FieldWriter writer;
  writer("cdiVersion", std::string(lowest_cdi_version(lean)));
  describe(writer, lean);
  return json::serialize(writer.object) + "\n";
}

Result<CdiSpec> parse_cdi(std::string_view text) {
  boost::system::error_code error;
  const json::value parsed = json::parse(text, error);
  if (error) return fail(Code::kDataLoss, "the CDI spec is not JSON: {}", error.message());
  CdiSpec spec;
  if (!parsed.is_object()) return fail(Code::kDataLoss, "the CDI spec is not a JSON object");
  FieldReader reader(parsed.get_object());
  describe(reader, spec);
  if (!reader.ok) return fail(Code::kDataLoss, "the CDI spec has a member of a wrong type");
  if (auto valid = validate(spec); !valid) return fail(Code::kDataLoss, "{}", valid.error().message);
  return spec;
}

}  // namespace cardcage
