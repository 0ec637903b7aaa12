// cagectl device cordon|uncordon|reset NAME, clear NAME CAUSE
#include "ctl/admin.h"
#include "ctl/operator_name.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "ctl/since.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

using DeviceMethod = grpc::Status (admin::v1::Admin::Stub::*)(grpc::ClientContext*,
                                                              const admin::v1::DeviceCommandRequest&,
                                                              admin::v1::DeviceCommandResponse*);

struct DeviceCommandOptions {
  std::string device, module, cause, reason;
  std::string limit = "2m";
  bool force = false;
};

Status command_device(const Session& session, DeviceMethod method, const DeviceCommandOptions& options) {
  const auto limit = parse_duration(options.limit);
  if (!limit) return within(limit.error(), "--timeout");
  auto connection = AdminConnection::open(session.socket);
  if (!connection) return std::unexpected(connection.error());
  admin::v1::DeviceCommandRequest request;
  request.set_device(options.device);
  request.set_module(options.module);
  request.set_cause(options.cause);
  request.set_by(operator_name());
  request.set_reason(options.reason);
  request.set_force(options.force);
  request.set_limit_ms(std::chrono::duration_cast<std::chrono::milliseconds>(*limit).count());
  const auto response = connection->call(method, request, *limit + kCommandReserve);
  if (!response) return std::unexpected(response.error());
  if (session.json)
    print_json({{"device", options.device}, {"done", response->done()}});
  else
    fmt::print("{}\n", printable(response->done()));
  return {};
}

struct Added {
  CLI::App& command;
  DeviceCommandOptions& options;
};

// The callback owns the options.
Added add_device_verb(CLI::App& app, Session& session, const char* name, const char* help, DeviceMethod method) {
  auto* command = app.add_subcommand(name, help);
  auto options = std::make_shared<DeviceCommandOptions>();
  command->add_option("NAME", options->device, "the device, by name or id")->required();
  command->add_option("--module", options->module, "its module, if several list a device of this name")
      ->type_name("MODULE");
  command->add_option("--reason", options->reason, "why; kept in the history of the device")->type_name("TEXT");
  command->callback([&session, method, options] { session.outcome = command_device(session, method, *options); });
  return {*command, *options};
}

}  // namespace

void add_device(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("device", "take a device out of service, or bring it back");
  command->require_subcommand(1);
  using Stub = admin::v1::Admin::Stub;
  add_device_verb(*command, session, "cordon", "give the device to no new pod; pods that have it keep it",
                  &Stub::CordonDevice);
  add_device_verb(*command, session, "uncordon", "let pods get the device again", &Stub::UncordonDevice);
  const Added clear =
      add_device_verb(*command, session, "clear", "end a cause of its health; it counts again if the module repeats it",
                      &Stub::ClearCause);
  clear.command.add_option("CAUSE", clear.options.cause, "as 'cagectl health NAME' shows it")->required();
  const Added reset = add_device_verb(
      *command, session, "reset",
      "have the module reset the device and its partitions; refused while one of them is held", &Stub::ResetDevice);
  reset.command.add_flag("--force", reset.options.force, "reset it even if it is held; its holder loses it");
  add_duration(reset.command, "--timeout", reset.options.limit, "how long the reset may take")->capture_default_str();
}

}  // namespace cardcage
