// cagectl claims
#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"

namespace cardcage {
namespace {

namespace json = boost::json;
namespace wire = admin::v1;

json::value claim_json(const wire::Claim& claim) {
  json::array devices, holders;
  for (const auto& holder : claim.holders())
    holders.push_back({{"id", holder.id()},
                       {"namespace", holder.namespace_()},
                       {"pod", holder.pod()},
                       {"container", holder.container()},
                       {"since", time_json(holder.since())}});
  for (const auto& device : claim.devices())
    devices.push_back({{"requests", strings_json(device.requests())},
                       {"pool", device.pool()},
                       {"device", device.device()},
                       {"cdiDeviceIDs", strings_json(device.cdi_device_ids())},
                       {"shareID", text_json(device.share_id())}});
  return {{"claim", to_json(claim.ref())},
          {"driver", claim.driver()},
          {"modules", strings_json(claim.modules())},
          {"state", claim.state()},
          {"prepared", time_json(claim.prepared())},
          {"devices", std::move(devices)},
          {"holders", std::move(holders)}};
}

std::string device_names(const wire::Claim& claim) {
  std::vector<std::string> names;
  for (const auto& device : claim.devices()) names.push_back(device.device());
  return fmt::format("{}", fmt::join(names, ", "));
}

Status run(const Session& session) {
  const auto list = ask(session.socket, &wire::Admin::Stub::ListClaims);
  if (!list) return std::unexpected(list.error());
  if (session.json) {
    json::array claims;
    for (const auto& claim : list->claims()) claims.push_back(claim_json(claim));
    print_json(claims);
    return {};
  }
  if (list->claims().empty()) return fmt::print("no claims are prepared\n"), Status{};
  Table table({"CLAIM OR POD", "DRIVER OR RESOURCE", "DEVICES", "STATE", "PREPARED", "UID OR ID"});
  for (const auto& claim : list->claims()) {
    const auto row = [&](const std::string& name, std::int64_t since, const std::string& id) {
      table.row({name, claim.driver(), device_names(claim), claim.state(), to_rfc3339(since), id});
    };
    for (const auto& holder : claim.holders())
      row(holder.pod().empty() ? "" : fmt::format("{}/{}", holder.namespace_(), holder.pod()), holder.since(),
          holder.id());
    if (claim.holders().empty()) row(to_text(claim.ref()), claim.prepared(), claim.ref().uid());
  }
  table.print();
  return {};
}

}  // namespace

void add_claims(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("claims", "show what is prepared now, and for which claim or pod");
  command->callback([&session] { session.outcome = run(session); });
}

}  // namespace cardcage
