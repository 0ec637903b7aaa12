#include "ctl/cdi_edits.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "ctl/print.h"
#include "host/core/file.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kMaxSpecSize = 16u << 20;

std::vector<json::object> read_specs(std::span<const fs::path> folders) {
  std::vector<json::object> specs;
  for (const fs::path& folder : folders) {
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
      if (entry->path().extension() != ".json") continue;
      const auto text = read_file(entry->path(), kMaxSpecSize);
      boost::system::error_code malformed;
      json::value spec = text ? json::parse(*text, malformed) : json::value();
      if (!malformed && spec.is_object()) specs.push_back(std::move(spec.as_object()));
    }
  }
  return specs;
}

std::string_view string_member(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

const json::object* device_of(const json::object& spec, std::string_view kind, std::string_view name) {
  const auto* devices = spec.if_contains("devices");
  if (string_member(spec, "kind") != kind || !devices || !devices->is_array()) return nullptr;
  for (const json::value& device : devices->get_array())
    if (device.is_object() && string_member(device.get_object(), "name") == name) return &device.get_object();
  return nullptr;
}

void append_edits(json::object& merged, const json::object& owner) {
  const auto* edits = owner.if_contains("containerEdits");
  if (!edits || !edits->is_object()) return;
  for (const auto& [name, value] : edits->get_object()) {
    if (!value.is_array()) {
      merged[name] = value;
      continue;
    }
    auto& list = merged[name];
    if (!list.is_array()) list.emplace_array();
    for (const json::value& item : value.get_array()) list.get_array().push_back(item);
  }
}

// Formats "env  GPU=0", "deviceNodes  /dev/gpu0", "mounts  /host -> /container".
std::string edit_text(const json::value& edit) {
  if (edit.is_string()) return std::string(edit.get_string());
  if (!edit.is_object()) return json::serialize(edit);
  const auto& object = edit.get_object();
  const auto from = string_member(object, "hostPath"), to = string_member(object, "containerPath"),
             path = string_member(object, "path");
  if (!to.empty()) return fmt::format("{} -> {}", from, to);
  if (!path.empty() && !string_member(object, "hookName").empty())
    return fmt::format("{} {}", string_member(object, "hookName"), path);
  if (!path.empty()) return from.empty() ? std::string(path) : fmt::format("{} -> {}", from, path);
  return json::serialize(edit);
}

}  // namespace

Result<json::object> merged_edits(std::span<const fs::path> folders, const std::vector<std::string>& cdi_ids) {
  const std::vector<json::object> specs = read_specs(folders);
  json::object merged;
  std::set<const json::object*> used;
  for (const std::string& id : cdi_ids) {
    const std::size_t equals = std::min(id.find('='), id.size());
    const json::object* device = nullptr;
    // In reverse order, because the last folder wins.
    for (auto spec = specs.rbegin(); spec != specs.rend() && !device; ++spec) {
      device = device_of(*spec, std::string_view(id).substr(0, equals),
                         std::string_view(id).substr(std::min(id.size(), equals + 1)));
      if (device && used.insert(&*spec).second) append_edits(merged, *spec);
    }
    if (!device) return fail(Code::kNotFound, "no CDI file has the device '{}'", id);
    append_edits(merged, *device);
  }
  return merged;
}

void print_edits(const json::object& edits, std::size_t indent) {
  for (const auto& [name, value] : edits) {
    if (!value.is_array()) continue;
    for (const json::value& edit : value.get_array())
      fmt::print("{}{:<12}  {}\n", std::string(indent, ' '), printable(name), printable(edit_text(edit)));
  }
}

}  // namespace cardcage
