// cagectl claims, cagectl claims forget UID
#include "ctl/admin.h"
#include "ctl/claim_holders.h"
#include "ctl/print.h"
#include "ctl/session.h"

namespace cardcage {
namespace {

std::string claim_state_text(const admin::v1::Claim& claim) {
  std::string state = claim.state();
  if (!claim.progress().empty()) state += fmt::format(" ({})", printable(claim.progress()));
  for (const auto& service : claim.services())
    state += fmt::format("; service '{}' {}", printable(service.name()), printable(service.state()));
  return state;
}

template <class Claims>
void print_claims(const Claims& claims) {
  Table table({"CLAIM OR POD", "DRIVER OR RESOURCE", "DEVICES", "STATE", "PREPARED", "UID OR ID"});
  for (const auto& claim : claims)
    for (const ClaimHolder& holder : holders_of(claim))
      table.row({holder.name, claim.driver(), device_names(claim), claim_state_text(claim), to_rfc3339(holder.since),
                 holder.id});
  table.print();
}

Status list(const Session& session) {
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListClaims);
  if (!list) return std::unexpected(list.error());
  if (session.json) return print_json(*list, "claims"), Status{};
  if (list->claims().empty()) return fmt::print("no claims are prepared\n"), Status{};
  print_claims(list->claims());
  return {};
}

// The daemon waits for modules: deadlines.unprepare at most, and again for its turn.
constexpr std::chrono::seconds kForgetLimit{100};

struct ForgetOptions {
  std::string uid;
  bool force = false;
};

Status forget(const Session& session, const ForgetOptions& options) {
  auto connection = AdminConnection::open(session.socket);
  if (!connection) return std::unexpected(connection.error());
  admin::v1::ForgetClaimRequest request;
  request.set_uid(options.uid);
  request.set_force(options.force);
  const auto response = connection->call(&admin::v1::Admin::Stub::ForgetClaim, request, kForgetLimit);
  if (!response) return std::unexpected(response.error());
  if (session.json) {
    boost::json::value printed = to_json(*response);
    printed.as_object()["forgotten"] = options.force;
    print_json(printed);
    return {};
  }
  print_claims(response->claims());
  if (!options.force) {
    fmt::print(
        "\nWith --force its modules release these devices, and its CDI file and record are removed. A pod that still "
        "uses\nthem loses them. If a module cannot release its part, it frees that when it starts next.\n");
    return {};
  }
  for (const auto& problem : response->problems()) fmt::print("warning: {}\n", printable(problem));
  fmt::print("forgotten\n");
  return {};
}

}  // namespace

void add_claims(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("claims", "show what is prepared now, and for which claim or pod");
  command->callback([&session, command] {
    if (command->get_subcommands().empty()) session.outcome = list(session);
  });
  auto* forgets = command->add_subcommand("forget", "release a claim that the kubelet will never unprepare");
  auto options = std::make_shared<ForgetOptions>();
  forgets->add_option("UID", options->uid, "the claim's UID")->required();
  forgets->add_flag("--force", options->force, "do it; without it only show what would be released");
  forgets->callback([&session, options] { session.outcome = forget(session, *options); });
}

}  // namespace cardcage
