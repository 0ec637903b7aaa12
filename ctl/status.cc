// cagectl status
#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/duration.h"
#include "host/core/version.h"

namespace cardcage {
namespace {

namespace json = boost::json;

json::value driver_json(const admin::v1::Driver& driver) {
  return {{"name", driver.name()},
          {"module", driver.module()},
          {"pool", driver.pool()},
          {"socket", driver.socket()},
          {"registration", to_json(driver.registration())},
          {"publication", to_json(driver.publication())},
          {"generation", driver.generation()},
          {"slices", driver.slices()},
          {"devices", driver.devices()}};
}

json::value resource_json(const admin::v1::Resource& resource) {
  return {{"name", resource.name()},
          {"module", resource.module()},
          {"socket", resource.socket()},
          {"way", resource.way()},
          {"registration", to_json(resource.registration())},
          {"devices", resource.devices()},
          {"healthy", resource.healthy()},
          {"handedOut", resource.handed_out()}};
}

json::value status_json(const admin::v1::GetStatusResponse& status) {
  json::array drivers, resources;
  for (const auto& driver : status.drivers()) drivers.push_back(driver_json(driver));
  for (const auto& resource : status.resources()) resources.push_back(resource_json(resource));
  return {{"version", status.version()},
          {"node", status.node()},
          {"pid", status.pid()},
          {"started", time_json(status.started())},
          {"uptimeSeconds", status.uptime_ms() / 1000},
          {"restarts", status.restarts()},
          {"lastEnd", text_json(status.last_end())},
          {"config",
           {{"file", status.config_file()},
            {"sha256", status.config_sha256()},
            {"state", to_json(status.config())},
            {"applied", time_json(status.config_applied())},
            {"reloads", status.config_reloads()},
            {"failures", status.config_reload_failures()},
            {"errors", strings_json(status.config_errors())},
            {"restart", strings_json(status.config_restart())}}},
          {"apiServer", to_json(status.api_server())},
          {"ledger", to_json(status.ledger())},
          {"liveClaims", status.live_claims()},
          {"podResources", to_json(status.pod_resources())},
          {"nodeLabels", to_json(status.node_labels())},
          {"containerRuntime", to_json(status.container_runtime())},
          {"claimStatus", to_json(status.claim_status())},
          {"drivers", std::move(drivers)},
          {"resources", std::move(resources)},
          {"warnings", strings_json(status.warnings())}};
}

std::string publication(const admin::v1::Driver& driver) {
  std::string text = to_text(driver.publication());
  if (driver.slices() > 0)
    text += fmt::format(" (generation {}, {})", driver.generation(), count(driver.slices(), "slice"));
  return text;
}

std::string registration(const admin::v1::Resource& resource) {
  std::string text = to_text(resource.registration());
  if (resource.registration_way() == admin::v1::REGISTRATION_WAY_UNSPECIFIED) return text;
  return fmt::format(
      "{} ({})", text,
      resource.registration_way() == admin::v1::REGISTRATION_WAY_REGISTRY ? "plugins_registry" : "kubelet.sock");
}

// Returns the digest of the running configuration; the condition follows if the file differs from it.
std::string config(const admin::v1::GetStatusResponse& status) {
  const std::string text = fmt::format("{} (sha256 {})", status.config_file(), status.config_sha256().substr(0, 12));
  const bool applied = !status.has_config() || status.config().level() == admin::v1::LEVEL_GOOD;
  return applied ? text : fmt::format("{}, {}", text, to_text(status.config()));
}

std::string restarts(const admin::v1::GetStatusResponse& status) {
  if (status.restarts() == 0) return "";
  return fmt::format("{}; the previous run {}", status.restarts(), printable(status.last_end()));
}

void print_status(const admin::v1::GetStatusResponse& status) {
  const auto uptime = std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(status.uptime_ms()));
  fmt::print("cardcage {} on node {}, pid {}, up {}\n", printable(status.version()), printable(status.node()),
             status.pid(), format_duration(uptime));
  print_facts(
      {{"restarts", restarts(status)},
       {"config", config(status)},
       {"api server", to_text(status.api_server())},
       {"ledger", fmt::format("{}, {} prepared", to_text(status.ledger()), count(status.live_claims(), "claim"))},
       {"pod resources", to_text(status.pod_resources())},
       {"node labels", to_text(status.node_labels())},
       {"runtime", to_text(status.container_runtime())},
       {"claim status", to_text(status.claim_status())}});
  if (status.drivers_size() > 0) {
    fmt::print("\n");
    Table table({"DRIVER", "MODULE", "POOL", "DEVICES", "REGISTRATION", "PUBLICATION"});
    for (const auto& driver : status.drivers())
      table.row({driver.name(), driver.module(), driver.pool(), fmt::to_string(driver.devices()),
                 to_text(driver.registration()), publication(driver)});
    table.print();
  }
  if (status.resources_size() > 0) {
    fmt::print("\n");
    Table table({"RESOURCE", "MODULE", "DEVICES", "HEALTHY", "IN USE", "REGISTRATION"});
    for (const auto& resource : status.resources())
      table.row({resource.name(), resource.module(), fmt::to_string(resource.devices()),
                 fmt::to_string(resource.healthy()), fmt::to_string(resource.handed_out()), registration(resource)});
    table.print();
  }
  if (status.warnings_size() > 0 || status.version() != version()) fmt::print("\n");
  if (status.version() != version())
    fmt::print("warning: this is cagectl {}, the daemon is {}\n", version(), printable(status.version()));
  for (const auto& warning : status.warnings()) fmt::print("warning: {}\n", printable(warning));
}

Status show_status(const Session& session) {
  const auto status = ask(session.socket, &admin::v1::Admin::Stub::GetStatus);
  if (!status) return std::unexpected(status.error());
  if (session.json)
    print_json(status_json(*status));
  else
    print_status(*status);
  return {};
}

}  // namespace

void add_status(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("status", "show the daemon: version, node, API server, drivers, warnings");
  command->callback([&session] { session.outcome = show_status(session); });
}

}  // namespace cardcage
