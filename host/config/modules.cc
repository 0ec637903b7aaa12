// [[module]] blocks: the file to load, its options, and the drivers and resources that offer its devices.
#include <algorithm>

#include "host/config/names.h"
#include "host/config/resource_pattern.h"
#include "host/config/sections.h"
#include "host/core/ascii.h"

namespace cardcage {
namespace {

constexpr std::string_view kDraKeys[] = {"driver", "pool"};
constexpr std::string_view kResourceKeys[] = {
    "resource", "registration", "deliver", "placement", "replicas", "fail_requests_greater_than_one", "restart_grace"};
// Pods that the kubelet admits meanwhile wait in Allocate, which may take at most 30 s.
constexpr std::chrono::seconds kMaxRestartGrace{30};

void refuse_keys(TableReader& table, std::span<const std::string_view> keys, std::string_view api) {
  for (const auto key : keys)
    if (table.has(key))
      table.refuse(key, table.position_of(key), fmt::format("not a key of api = \"{}\"; remove it", api));
}

void read_replicas(TableReader& table, ResourceConfig& resource) {
  const auto number = table.integer("replicas");
  if (number && (number->value < 1 || number->value > kMaxReplicas))
    table.refuse("replicas", number->position,
                 fmt::format("{} is out of bounds; write 1 to {}", number->value, kMaxReplicas));
  else if (number)
    resource.replicas = static_cast<std::uint32_t>(number->value);
  const auto fails = table.boolean("fail_requests_greater_than_one");
  if (!fails) return;
  resource.fail_requests_greater_than_one = fails->value;
  const bool offered_once = number ? number->value == 1 : !table.has("replicas");
  if (fails->value && offered_once)
    table.refuse("fail_requests_greater_than_one", fails->position,
                 "it has no effect while every device is offered once; set replicas to 2 or more, or remove it");
}

ResourceConfig read_resource(TableReader& table) {
  static constexpr std::pair<std::string_view, RegistrationWay> kWays[] = {{"auto", RegistrationWay::kAuto},
                                                                           {"kubelet", RegistrationWay::kKubelet},
                                                                           {"registry", RegistrationWay::kRegistry}};
  static constexpr std::pair<std::string_view, Delivery> kDeliveries[] = {
      {"cdi", Delivery::kCdi}, {"cdi-annotations", Delivery::kCdiAnnotations}, {"direct", Delivery::kDirect}};
  static constexpr std::pair<std::string_view, Placement> kPlacements[] = {{"packed", Placement::kPacked},
                                                                           {"spread", Placement::kSpread}};
  ResourceConfig resource;
  resource.registration = table.choice("registration", kWays).value_or(resource.registration);
  resource.deliver = table.choice("deliver", kDeliveries).value_or(resource.deliver);
  resource.placement = table.choice("placement", kPlacements).value_or(resource.placement);
  read_replicas(table, resource);
  table.read_duration("restart_grace", resource.restart_grace, std::chrono::milliseconds(0), kMaxRestartGrace);
  return resource;
}

void read_pool(TableReader& table, std::string& pool) {
  const auto text = table.expanded("pool");
  if (!text) return;
  if (const auto valid = check_pool_name(text->value); !valid)
    table.refuse("pool", text->position, valid.error().message);
  pool = text->value;
}

ServeConfig read_serve(TableReader table) {
  static constexpr std::pair<std::string_view, Api> kApis[] = {{"dra", Api::kDra},
                                                               {"device-plugin", Api::kDevicePlugin}};
  ServeConfig serve;
  serve.position = table.position();
  serve.api = table.choice("api", kApis).value_or(Api::kDra);
  if (serve.api == Api::kDra) {
    serve.driver = table.required("driver", check_driver_name, "write the DRA driver's name, like \"gpu.example.com\"");
    read_pool(table, serve.pool);
    refuse_keys(table, kResourceKeys, "dra");
  } else {
    serve.resource =
        table.required("resource", check_resource_pattern, "write the resource's name, like \"example.com/fpga\"");
    serve.plugin = read_resource(table);
    refuse_keys(table, kDraKeys, "device-plugin");
  }
  table.mark_known(kDraKeys);
  table.mark_known(kResourceKeys);
  serve.select = read_select(table);
  table.refuse_unknown_keys();
  return serve;
}

std::optional<RawOption> read_option(const std::string& key, const toml::node& node, TableReader& options) {
  RawOption option{{}, options.reading().at(node.source())};
  if (const auto* text = node.as_string()) {
    option.value = text->get();
  } else if (const auto* number = node.as_integer()) {
    option.value = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    option.value = flag->get();
  } else if (const auto* list = node.as_array()) {
    std::vector<std::string> items;
    for (const toml::node& item : *list) {
      if (const auto* part = item.as_string()) {
        items.push_back(part->get());
      } else {
        options.refuse(key, options.reading().at(item.source()),
                       "expected a list of strings, found " + describe_value(item) + " in it");
        return std::nullopt;
      }
    }
    option.value = std::move(items);
  } else {
    options.refuse(key, option.position,
                   "expected a string, an integer, a boolean or a list of strings, found " + describe_value(node));
    return std::nullopt;
  }
  return option;
}

void read_options(TableReader options, ModuleConfig& module) {
  if (!options.raw()) return;
  for (const auto& [key, node] : *options.raw()) {
    const std::string name(key.str());
    if (auto option = read_option(name, node, options)) module.options.emplace(name, std::move(*option));
  }
}

void read_path(TableReader& table, ModuleConfig& module) {
  if (!table.has("path"))
    table.refuse("path", table.position(), "missing; write the file's name, like \"libcardcage_mock.so\"");
  const auto text = table.expanded("path");
  if (!text) return;
  auto path = path_below(text->value);
  if (path)
    module.path = std::move(*path);
  else
    table.refuse("path", text->position, path.error().message + "; write a path below node.modules_dir");
}

void read_isolation(TableReader& table, ModuleConfig& module) {
  static constexpr std::pair<std::string_view, Isolation> kIsolations[] = {{"in-process", Isolation::kInProcess},
                                                                           {"process", Isolation::kProcess}};
  module.isolation = table.choice("isolation", kIsolations).value_or(module.isolation);
}

void read_sha256(TableReader& table, ModuleConfig& module) {
  const auto text = table.string("sha256");
  if (!text || text->value.empty()) return;
  module.sha256 = text->value;
  std::ranges::transform(module.sha256, module.sha256.begin(), to_lower);
  if (module.sha256.size() != 64 || !std::ranges::all_of(module.sha256, is_lower_hex))
    table.refuse(
        "sha256", text->position,
        fmt::format("'{}' is not a SHA-256; write 64 hexadecimal digits, as sha256sum prints them", text->value));
}

void read_programs(TableReader& table, ModuleConfig& module) {
  for (const auto& text : table.strings("programs")) {
    const std::filesystem::path path(text.value);
    const auto same_name = [&](const auto& other) { return other.filename() == path.filename(); };
    if (!path.is_absolute() || !path.has_filename())
      table.refuse("programs", text.position,
                   fmt::format("'{}' is not the absolute path of a program, like \"/usr/bin/nvidia-smi\"", text.value));
    else if (std::ranges::any_of(module.programs, same_name))
      table.refuse("programs", text.position,
                   fmt::format("there are two programs named '{}'; the module could not choose: remove one",
                               path.filename().native()));
    else
      module.programs.push_back(path);
  }
}

void read_writes(TableReader& table, ModuleConfig& module) {
  for (auto& text : table.strings("writes")) {
    if (const auto valid = check_path_pattern(text.value); !valid)
      table.refuse("writes", text.position, valid.error().message);
    else
      module.writes.push_back(std::move(text.value));
  }
}

ModuleConfig read_module(TableReader table) {
  ModuleConfig module;
  module.position = table.position();
  module.name = table.required("name", check_label, "write a name of your choice, like \"gpu\"");
  read_path(table, module);
  read_isolation(table, module);
  read_sha256(table, module);
  read_programs(table, module);
  read_writes(table, module);
  module.allows = read_allowed_edits(table);
  read_process(table.table("process"), module);
  read_options(table.table("options"), module);
  module.health = read_health(table.tables("health"));
  module.attributes = read_attributes(table.tables("attribute"));
  const bool serves = table.has("serve");
  for (TableReader& serve : table.tables("serve")) module.serve.push_back(read_serve(std::move(serve)));
  if (!serves)
    table.refuse("serve", table.position(),
                 "missing; write [[module.serve]] to say which driver or resource offers the devices");
  table.refuse_unknown_keys();
  return module;
}

}  // namespace

std::vector<ModuleConfig> read_modules(std::vector<TableReader> tables) {
  std::vector<ModuleConfig> modules;
  for (TableReader& table : tables) modules.push_back(read_module(std::move(table)));
  return modules;
}

}  // namespace cardcage
