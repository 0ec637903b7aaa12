// cagectl module quiesce|resume|restart MODULE
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

namespace json = boost::json;
namespace wire = admin::v1;

using Method = grpc::Status (wire::Admin::Stub::*)(grpc::ClientContext*, const wire::ModuleCommandRequest&,
                                                   wire::ModuleCommandResponse*);
struct Verb {
  const char* name;
  const char* help;
  Method method;
};
constexpr Verb kQuiesce{"quiesce", "make the module release its hardware until it is resumed; claims stay prepared",
                        &wire::Admin::Stub::QuiesceModule};
constexpr Verb kResume{"resume", "let the module take its hardware back and list its devices again",
                       &wire::Admin::Stub::ResumeModule};
constexpr Verb kRestart{"restart", "start the module afresh, at once; claims stay prepared",
                        &wire::Admin::Stub::RestartModule};

// The daemon responds within the limit, or a little later if it has to undo something.
constexpr std::chrono::seconds kReserve{15};

struct CommandOptions {
  std::string module, reason;
  std::string limit = "30s";
};

// For the record; behind sudo, the user who called it.
std::string operator_name() {
  if (const char* user = std::getenv("SUDO_USER"); user != nullptr && *user != '\0') return user;
  passwd entry{};
  passwd* found = nullptr;
  char text[4096];
  if (::getpwuid_r(::geteuid(), &entry, text, sizeof text, &found) == 0 && found != nullptr) return entry.pw_name;
  return fmt::format("uid {}", ::geteuid());
}

// The claims that hold devices of the module.
std::vector<wire::Claim> claims_of(const wire::ListClaimsResponse& list, const std::string& module) {
  std::vector<wire::Claim> claims;
  for (const auto& claim : list.claims())
    if (std::ranges::find(claim.modules(), module) != claim.modules().end()) claims.push_back(claim);
  return claims;
}

void print_claims(const std::vector<wire::Claim>& claims) {
  if (claims.empty()) return fmt::print("no claim holds any of its devices\n");
  fmt::print("its devices stay with {}:\n", count(claims.size(), "claim"));
  Table table({"CLAIM OR POD", "DRIVER OR RESOURCE", "DEVICES", "UID OR ID"});
  for (const auto& claim : claims) {
    std::vector<std::string> devices;
    for (const auto& device : claim.devices()) devices.push_back(device.device());
    const std::string names = fmt::format("{}", fmt::join(devices, ", "));
    for (const auto& holder : claim.holders())
      table.row({holder.pod().empty() ? "" : fmt::format("{}/{}", holder.namespace_(), holder.pod()), claim.driver(),
                 names, holder.id()});
    if (claim.holders().empty()) table.row({to_text(claim.ref()), claim.driver(), names, claim.ref().uid()});
  }
  table.print(2);
}

json::array claims_json(const std::vector<wire::Claim>& claims) {
  json::array list;
  for (const auto& claim : claims) {
    json::array devices, pods;
    for (const auto& device : claim.devices()) devices.emplace_back(device.device());
    for (const auto& holder : claim.holders())
      pods.push_back({{"namespace", holder.namespace_()}, {"pod", holder.pod()}, {"id", holder.id()}});
    list.push_back({{"claim", to_json(claim.ref())},
                    {"driver", claim.driver()},
                    {"devices", std::move(devices)},
                    {"pods", std::move(pods)}});
  }
  return list;
}

Status run(const Session& session, const Verb& verb, const CommandOptions& options) {
  const auto limit = parse_duration(options.limit);
  if (!limit) return within(limit.error(), "--timeout");
  auto connection = AdminConnection::open(session.socket);
  if (!connection) return std::unexpected(connection.error());
  wire::ModuleCommandRequest request;
  request.set_module(options.module);
  request.set_by(operator_name());
  request.set_reason(options.reason);
  request.set_limit_ms(std::chrono::duration_cast<std::chrono::milliseconds>(*limit).count());
  const auto response = connection->call(verb.method, request, *limit + kReserve);
  if (!response) return std::unexpected(response.error());
  const auto list = connection->call(&wire::Admin::Stub::ListClaims, wire::ListClaimsRequest());
  if (!list) return std::unexpected(list.error());
  const auto claims = claims_of(*list, options.module);
  if (session.json) {
    print_json({{"module", options.module}, {"state", to_json(response->state())}, {"claims", claims_json(claims)}});
    return {};
  }
  fmt::print("module '{}' is {}\n", options.module, printable(to_text(response->state())));
  print_claims(claims);
  return {};
}

void add_verb(CLI::App& app, Session& session, const Verb& verb) {
  auto* command = app.add_subcommand(verb.name, verb.help);
  auto options = std::make_shared<CommandOptions>();
  command->add_option("MODULE", options->module, "its name in the configuration")->required();
  command->add_option("--reason", options->reason, "why; shown with the module's state")->type_name("TEXT");
  command->add_option("--timeout", options->limit, "how long to wait for calls in progress")
      ->type_name("DURATION")
      ->capture_default_str();
  command->callback([&session, &verb, options] { session.outcome = run(session, verb, *options); });
}

}  // namespace

void add_module(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("module", "command a module: quiesce, resume or restart it");
  command->require_subcommand(1);
  for (const Verb* verb : {&kQuiesce, &kResume, &kRestart}) add_verb(*command, session, *verb);
}

}  // namespace cardcage
