// [[module.serve]]: the drivers and resources that offer the devices of a module.
#include "host/config/fields.h"
#include "host/config/names.h"
#include "host/config/resource_pattern.h"
#include "host/config/sections.h"

namespace cardcage {
namespace {

// Pods that the kubelet admits meanwhile wait in Allocate, which may take at most 30 s.
constexpr std::chrono::seconds kMaxRestartGrace{30};

constexpr std::pair<std::string_view, Api> kApis[] = {{"dra", Api::kDra}, {"device-plugin", Api::kDevicePlugin}};
constexpr std::pair<std::string_view, RegistrationWay> kWays[] = {
    {"auto", RegistrationWay::kAuto}, {"kubelet", RegistrationWay::kKubelet}, {"registry", RegistrationWay::kRegistry}};
constexpr std::pair<std::string_view, Delivery> kDeliveries[] = {
    {"cdi", Delivery::kCdi}, {"cdi-annotations", Delivery::kCdiAnnotations}, {"direct", Delivery::kDirect}};
constexpr std::pair<std::string_view, Placement> kPlacements[] = {{"packed", Placement::kPacked},
                                                                  {"spread", Placement::kSpread}};

void read_replicas(TableReader& table, std::string_view key, std::uint32_t& replicas) {
  replicas = table.count(key, 1, kMaxReplicas).value_or(replicas);
}

void read_fails(TableReader& table, std::string_view key, bool& fails) {
  const auto flag = table.boolean(key);
  if (!flag) return;
  fails = flag->value;
  const auto* replicas = table.raw()->get_as<std::int64_t>("replicas");
  const bool offered_once = replicas ? replicas->get() == 1 : !table.has("replicas");
  if (fails && offered_once)
    table.refuse(key, flag->position,
                 "it has no effect while every device is offered once; set replicas to 2 or more, or remove it");
}

constexpr std::tuple kDraKeys{
    field<&ServeConfig::driver>(
        "driver", required(text(check_driver_name), "write the DRA driver's name, like \"gpu.example.com\"")),
    field<&ServeConfig::pool>("pool", expanded(check_pool_name))};

constexpr std::tuple kResourceKeys{
    field<&ServeConfig::resource>(
        "resource", required(text(check_resource_pattern), "write the resource's name, like \"example.com/fpga\"")),
    field<&ServeConfig::plugin, &ResourceConfig::registration>("registration", one_of(kWays)),
    field<&ServeConfig::plugin, &ResourceConfig::deliver>("deliver", one_of(kDeliveries)),
    field<&ServeConfig::plugin, &ResourceConfig::placement>("placement", one_of(kPlacements)),
    field<&ServeConfig::plugin, &ResourceConfig::replicas>("replicas", read_replicas),
    field<&ServeConfig::plugin, &ResourceConfig::fail_requests_greater_than_one>("fail_requests_greater_than_one",
                                                                                 read_fails),
    field<&ServeConfig::plugin, &ResourceConfig::restart_grace>(
        "restart_grace", between(std::chrono::milliseconds(0), kMaxRestartGrace))};

void refuse_fields(TableReader& table, const auto& fields, std::string_view api) {
  for_each_field(fields, [&](const auto& field) {
    table.mark_known({&field.key, 1});
    if (table.has(field.key))
      table.refuse(field.key, table.position_of(field.key), fmt::format("not a key of api = \"{}\"; remove it", api));
  });
}

}  // namespace

ServeConfig read_serve(TableReader table) {
  ServeConfig serve;
  serve.position = {table.position()};
  one_of(kApis)(table, "api", serve.api);
  if (serve.api == Api::kDra) {
    read_fields(table, serve, kDraKeys);
    refuse_fields(table, kResourceKeys, "dra");
  } else {
    read_fields(table, serve, kResourceKeys);
    refuse_fields(table, kDraKeys, "device-plugin");
  }
  serve.select = read_select(table);
  table.refuse_unknown_keys();
  return serve;
}

}  // namespace cardcage
