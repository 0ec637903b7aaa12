// cagectl module quiesce|resume MODULE [DEVICE], restart MODULE, and the other verbs of cagectl module
#include <algorithm>
#include <set>

#include "ctl/admin.h"
#include "ctl/claim_holders.h"
#include "ctl/module_new.h"
#include "ctl/operator_name.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "ctl/since.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

namespace json = boost::json;

using ModuleMethod = grpc::Status (admin::v1::Admin::Stub::*)(grpc::ClientContext*,
                                                              const admin::v1::ModuleCommandRequest&,
                                                              admin::v1::ModuleCommandResponse*);
struct Verb {
  const char* name;
  const char* help;
  ModuleMethod method;
  const char* done;         // "quiesced"
  bool of_devices = false;  // also for one device of the module
};
constexpr Verb kQuiesce{"quiesce", "make the module release its hardware until it is resumed; claims stay prepared",
                        &admin::v1::Admin::Stub::QuiesceModule, "quiesced", true};
constexpr Verb kResume{"resume", "let the module take its hardware back and list its devices again",
                       &admin::v1::Admin::Stub::ResumeModule, "resumed", true};
constexpr Verb kRestart{"restart", "start the module afresh, at once; claims stay prepared",
                        &admin::v1::Admin::Stub::RestartModule, "restarted"};

struct ModuleCommandOptions {
  std::string module, device, reason;
  std::string limit = "30s";
};

// Returns the claims that hold devices of the module, or the device of the command and its partitions.
std::vector<admin::v1::Claim> claims_of(const admin::v1::ListClaimsResponse& list, const ModuleCommandOptions& options,
                                        const admin::v1::ListDevicesResponse& devices) {
  std::set<std::string> ids, users;  // users: UIDs of claims, and device ids of resources
  for (const auto& device : devices.devices())
    if (device.module() == options.module && (device.name() == options.device || device.id() == options.device))
      ids.insert(device.id());
  for (const auto& device : devices.devices())
    if (device.module() == options.module && (ids.contains(device.id()) || ids.contains(device.parent())))
      for (const auto& holder : device.holders()) users.insert(holder.uid());
  const auto is_meant = [&](const admin::v1::Claim& claim) {
    if (options.device.empty()) return claim.state() != "earlier-boot";
    return users.contains(claim.ref().uid()) ||
           std::ranges::any_of(claim.holders(), [&](const auto& holder) { return users.contains(holder.id()); });
  };
  std::vector<admin::v1::Claim> claims;
  for (const auto& claim : list.claims())
    if (std::ranges::find(claim.modules(), options.module) != claim.modules().end() && is_meant(claim))
      claims.push_back(claim);
  return claims;
}

void print_kept_claims(const std::vector<admin::v1::Claim>& claims, bool of_device) {
  if (claims.empty()) return fmt::print("no claim holds {}\n", of_device ? "it" : "any of its devices");
  fmt::print("{} with {}:\n", of_device ? "it stays" : "its devices stay", count(claims.size(), "claim"));
  Table table({"CLAIM OR POD", "DRIVER OR RESOURCE", "DEVICES", "UID OR ID"});
  for (const auto& claim : claims)
    for (const ClaimHolder& holder : holders_of(claim))
      table.row({holder.name, claim.driver(), device_names(claim), holder.id});
  table.print(2);
}

Status command_module(const Session& session, const Verb& verb, const ModuleCommandOptions& options) {
  const auto limit = parse_duration(options.limit);
  if (!limit) return within(limit.error(), "--timeout");
  auto connection = AdminConnection::open(session.socket);
  if (!connection) return std::unexpected(connection.error());
  admin::v1::ModuleCommandRequest request;
  request.set_module(options.module);
  request.set_device(options.device);
  request.set_by(operator_name());
  request.set_reason(options.reason);
  request.set_limit_ms(std::chrono::duration_cast<std::chrono::milliseconds>(*limit).count());
  const auto response = connection->call(verb.method, request, *limit + kCommandReserve);
  if (!response) return std::unexpected(response.error());
  const auto list = connection->call(&admin::v1::Admin::Stub::ListClaims, admin::v1::ListClaimsRequest());
  if (!list) return std::unexpected(list.error());
  const auto devices = connection->call(&admin::v1::Admin::Stub::ListDevices, admin::v1::ListDevicesRequest());
  if (!devices) return std::unexpected(devices.error());
  const auto claims = claims_of(*list, options, *devices);
  if (session.json) {
    json::object printed{{"module", options.module}, {"state", to_json(response->state())}};
    if (!options.device.empty()) printed["device"] = options.device;
    json::array& printed_claims = printed["claims"].emplace_array();
    for (const auto& claim : claims) printed_claims.push_back(to_json(claim));
    print_json(printed);
    return {};
  }
  if (options.device.empty())
    fmt::print("module '{}' is {}\n", options.module, printable(to_text(response->state())));
  else
    fmt::print("device '{}' of module '{}' is {}\n", options.device, options.module, verb.done);
  print_kept_claims(claims, !options.device.empty());
  return {};
}

void add_module_verb(CLI::App& app, Session& session, const Verb& verb) {
  auto* command = app.add_subcommand(verb.name, verb.help);
  auto options = std::make_shared<ModuleCommandOptions>();
  command->add_option("MODULE", options->module, "its name in the configuration")->required();
  if (verb.of_devices)
    command->add_option("DEVICE", options->device, "only this device of it and its partitions, by name or id");
  command->add_option("--reason", options->reason, "why; shown with the module's state")->type_name("TEXT");
  add_duration(*command, "--timeout", options->limit, "how long to wait for calls in progress")->capture_default_str();
  command->callback([&session, &verb, options] { session.outcome = command_module(session, verb, *options); });
}

}  // namespace

void add_module(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("module",
                                     "command a module: quiesce, resume or restart it; begin a new one, check a file, "
                                     "or print an admission policy");
  command->require_subcommand(1);
  for (const Verb* verb : {&kQuiesce, &kResume, &kRestart}) add_module_verb(*command, session, *verb);
  add_module_new(*command, session);
  add_module_check(*command, session);
  add_module_run(*command, session);
  add_module_admission(*command, session);
}

}  // namespace cardcage
