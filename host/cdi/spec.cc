#include "host/cdi/spec.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <set>

#include "host/cdi/edits_json.h"
#include "host/cdi/names.h"
#include "host/core/ascii.h"
#include "host/core/utf8.h"

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

bool starts_with_digit(const CdiDevice& device) { return !device.name.empty() && is_digit(device.name.front()); }

// An interface can be moved into one container only, under one name.
Status check_interfaces(const CdiSpec& spec) {
  std::set<std::string_view> names;
  Status checked;
  any_edits(spec, [&](const Edits& edits) {
    for (const NetDevice& device : edits.net_devices)
      if (!names.insert(device.host_interface).second)
        checked = fail(Code::kInvalidArgument, "host interface '{}' occurs twice in CDI spec '{}'",
                       device.host_interface, spec.kind);
    return !checked;
  });
  return checked;
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
  return check_interfaces(spec);
}

// Runtimes read these files as YAML, which refuses control characters and noncharacters that JSON may hold, and takes
// U+0085, U+2028 and U+2029 for line breaks. It understands the escapes of JSON.
bool needs_escape(std::uint32_t character) {
  return (character >= 0x7f && character <= 0x9f) || character == 0x2028 || character == 0x2029 ||
         character == 0xfffe || character == 0xffff;
}

// The code point of a well-formed character of at most three bytes; none of the others needs an escape.
std::uint32_t code_point(std::string_view character) {
  const auto bits = [&](std::size_t i, unsigned mask) { return static_cast<std::uint8_t>(character[i]) & mask; };
  switch (character.size()) {
    case 1: return bits(0, 0x7f);
    case 2: return bits(0, 0x1f) << 6 | bits(1, 0x3f);
    case 3: return bits(0, 0x0f) << 12 | bits(1, 0x3f) << 6 | bits(2, 0x3f);
    default: return 0x10000;
  }
}

// In JSON such characters occur within strings only.
Result<std::string> escape_for_yaml(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const std::size_t size = utf8_character_size(json);
    if (size == 0) return fail(Code::kInvalidArgument, "the text of a CDI spec is not UTF-8");
    const auto character = json.substr(0, size);
    if (const auto code = code_point(character); needs_escape(code))
      escaped += fmt::format("\\u{:04x}", code);
    else
      escaped += character;
    json.remove_prefix(size);
  }
  return escaped;
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
  std::string text = "{";
  FieldWriter writer(text);
  writer("cdiVersion", lowest_cdi_version(lean));
  describe(writer, lean);
  return escape_for_yaml(text + "}\n");
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
