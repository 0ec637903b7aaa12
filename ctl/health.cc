// cagectl health [DEVICE]
#include <algorithm>

#include "ctl/absent_devices.h"
#include "ctl/admin.h"
#include "ctl/device_health.h"
#include "ctl/health_lookup.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "ctl/since.h"

namespace cardcage {
namespace {

struct HealthOptions {
  std::string device, module, since;
  std::uint32_t limit = 100;
};

bool is_quarantined(const admin::v1::Device& device) {
  return std::ranges::any_of(device.health().causes(), [](const auto& cause) { return cause.quarantined(); });
}

std::string device_state_text(const admin::v1::Device& device) {
  return fmt::format("{}{}{}", device.health().state(), is_quarantined(device) ? ", quarantined" : "",
                     device.has_cordon() ? ", cordoned" : "");
}

// Lists the causes in effect. A device that is only cordoned has none.
std::vector<std::string> summary(const admin::v1::Device& device) {
  if (is_healthy(device.health())) {
    const admin::v1::Cordon& cordon = device.cordon();
    return {device.name(),
            device.module(),
            device_state_text(device),
            "",
            "",
            to_rfc3339(cordon.since()),
            fmt::format("cordoned by {}{}{}", cordon.by(), cordon.reason().empty() ? "" : ": ", cordon.reason())};
  }
  const admin::v1::Cause worst = device.health().causes().empty() ? admin::v1::Cause() : device.health().causes(0);
  const std::string cause =
      worst.of_parent().empty() ? worst.name() : fmt::format("{} of {}", worst.name(), worst.of_parent());
  return {device.name(),
          device.module(),
          device_state_text(device),
          cause,
          device.health().reason(),
          to_rfc3339(worst.since()),
          device.health().message()};
}

void print_summaries(const admin::v1::ListDevicesResponse& list) {
  Table table({"DEVICE", "MODULE", "STATE", "CAUSE", "REASON", "SINCE", "MESSAGE"});
  for (const auto& device : list.devices()) table.row(summary(device));
  table.print();
}

Status show_all(const Session& session, const HealthOptions& options) {
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListDevices);
  if (!list) return std::unexpected(list.error());
  std::uint64_t healthy = 0;
  for (const auto& device : list->devices())
    if (options.module.empty() || device.module() == options.module) ++healthy;
  const admin::v1::ListDevicesResponse shown = devices_in_trouble(*list, options.module);
  healthy -= static_cast<std::uint64_t>(shown.devices_size());
  if (session.json)
    print_json(shown, "devices");
  else if (!shown.devices().empty())
    print_summaries(shown);
  else if (healthy == 0)
    fmt::print("{}\n", no_devices_text(modules_for_hints(session), options.module));
  else
    fmt::print("{}\n",
               healthy == 1 ? "the only device is healthy" : fmt::format("all {} devices are healthy", healthy));
  return {};
}

// Returns whether the event concerns a cause: an event of the device itself has no state.
bool is_of_cause(const admin::v1::HealthEvent& event) { return !event.state().empty(); }

void print_events(const admin::v1::ListHealthEventsResponse& history) {
  if (history.events().empty()) return fmt::print("nothing in its history\n");
  fmt::print("history, newest first\n");
  Table table({"TIME", "WHAT", "CAUSE", "STATE", "REASON", "BY", "MESSAGE"});
  for (const auto& event : history.events()) {
    const std::string cause = is_of_cause(event) && event.cause().empty() ? "general" : event.cause();
    table.row(
        {to_rfc3339(event.time()), event.kind(), cause, event.state(), event.reason(), event.by(), event.message()});
  }
  table.print(2);
}

// Prints the operator's steps to make the device healthy again.
void print_next_steps(const admin::v1::Device& device) {
  for (const auto& cause : device.health().causes()) {
    if (!cause.quarantined()) continue;
    const std::string& owner = cause.of_parent().empty() ? device.name() : cause.of_parent();
    fmt::print("Only an operator ends {}. Once it is repaired: cagectl device clear {} {}\n",
               printable(cause.name().empty() ? "this cause" : fmt::format("'{}'", cause.name())), printable(owner),
               cause.name().empty() ? "''" : printable(cause.name()));
  }
  if (device.has_cordon())
    fmt::print("No new pod gets the device while it is cordoned. To end that: cagectl device uncordon {}\n",
               printable(device.name()));
}

// Returns the unit of the cause's values, which is in the rules.
std::string unit_of(const admin::v1::ListHealthRulesResponse& rules, const std::string& cause) {
  for (const auto& module : rules.modules())
    for (const auto& rule : module.rules())
      if (rule.cause() == cause && !rule.unit().empty()) return rule.unit();
  return "";
}

void print_device(const admin::v1::Device& device, const admin::v1::ListHealthRulesResponse& rules) {
  fmt::print("{}\n", printable(device.name()));
  print_facts({{"id", device.id()},
               {"module", device.module()},
               {"parent", device.parent()},
               {"health", health_text(device)},
               {"message", device.health().message()},
               {"taint", device.health().taint() == "none" ? "" : device.health().taint()},
               {"cordon", cordon_text(device)}},
              2);
  for (const auto& cause : device.health().causes())
    if (!is_healthy(cause)) fmt::print("  cause {}\n", printable(cause_text(cause, unit_of(rules, cause.name()))));
}

Status show_one(const Session& session, const HealthOptions& options) {
  const auto earliest = since(options.since);
  if (!earliest) return std::unexpected(earliest.error());
  auto connection = AdminConnection::open(session.socket);
  if (!connection) return std::unexpected(connection.error());
  const auto list = connection->call(&admin::v1::Admin::Stub::ListDevices, admin::v1::ListDevicesRequest());
  if (!list) return std::unexpected(list.error());
  const auto device = find_device(*list, options.device, options.module);
  if (!device) return std::unexpected(device.error());
  const bool listed = *device != nullptr;
  admin::v1::ListHealthEventsRequest request;
  request.set_module(listed ? (*device)->module() : options.module);
  request.set_device(listed ? (*device)->id() : options.device);
  request.set_since(*earliest);
  request.set_limit(options.limit);
  const auto history = connection->call(&admin::v1::Admin::Stub::ListHealthEvents, request);
  if (!history) return std::unexpected(history.error());
  if (!listed && history->events().empty()) return unknown_device(*list, options.device);
  if (session.json) {
    print_json(device_health_json(*device, options.device, *history));
    return {};
  }
  if (!listed) {
    fmt::print("no module lists device '{}' now\n", printable(options.device));
    print_events(*history);
    return {};
  }
  admin::v1::ListHealthRulesRequest of_module;
  of_module.set_module((*device)->module());
  const auto rules = connection->call(&admin::v1::Admin::Stub::ListHealthRules, of_module);
  if (!rules) return std::unexpected(rules.error());
  print_device(**device, *rules);
  print_events(*history);
  print_next_steps(**device);
  return {};
}

}  // namespace

void add_health(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("health", "show which devices are not healthy, and why; or the history of one");
  auto options = std::make_shared<HealthOptions>();
  auto* device = command->add_option("DEVICE", options->device, "its causes, its history and what you can do next");
  command->add_option("--module", options->module, "only the devices of this module")->type_name("MODULE");
  add_duration(*command, "--since", options->since, "only the history within this time, such as 24h")->needs(device);
  add_limit(*command, options->limit)->needs(device);
  command->callback([&session, command, options] {
    if (!command->get_subcommands().empty()) return;
    session.outcome = options->device.empty() ? show_all(session, *options) : show_one(session, *options);
  });
  add_health_rules(*command, session);
  command->get_subcommand("rules")->excludes(device);
}

}  // namespace cardcage
