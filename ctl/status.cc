// cagectl status
#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/duration.h"
#include "host/core/version.h"

namespace cardcage {
namespace {

std::string publication(const admin::v1::Driver& driver) {
  std::string text = to_text(driver.publication());
  if (driver.slices() > 0)
    text += fmt::format(" (generation {}, {})", driver.generation(), count(driver.slices(), "slice"));
  return text;
}

std::string registration(const admin::v1::Resource& resource) {
  std::string text = to_text(resource.registration());
  if (resource.way().empty()) return text;
  return fmt::format("{} ({})", text, resource.way() == "registry" ? "plugins_registry" : "kubelet.sock");
}

// Returns the digest of the running configuration; the condition follows if the file differs from it.
std::string config(const admin::v1::Config& its) {
  const std::string text = fmt::format("{} (sha256 {})", its.file(), its.sha256().substr(0, 12));
  return its.state().level() == "good" ? text : fmt::format("{}, {}", text, to_text(its.state()));
}

std::string restarts(const admin::v1::GetStatusResponse& status) {
  if (status.restarts() == 0) return "";
  return fmt::format("{}; the previous run {}", status.restarts(), printable(status.last_end()));
}

void print_status(const admin::v1::GetStatusResponse& status) {
  fmt::print("cardcage {} on node {}, pid {}, up {}\n", printable(status.version()), printable(status.node()),
             status.pid(), format_duration(std::chrono::seconds(status.uptime_seconds())));
  print_facts(
      {{"restarts", restarts(status)},
       {"config", config(status.config())},
       {"api server", to_text(status.api_server())},
       {"ledger", fmt::format("{}, {} prepared", to_text(status.ledger()), count(status.live_claims(), "claim"))},
       {"pods api", to_text(status.pods_api())},
       {"pod resources", to_text(status.pod_resources())},
       {"node labels", to_text(status.node_labels())},
       {"runtime", to_text(status.container_runtime())},
       {"claim status", to_text(status.claim_status())},
       {"state folder", status.state_dir().level() == "bad" ? to_text(status.state_dir()) : ""}});
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
    print_json(to_json(*status));
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
