// cagectl claims
#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"

namespace cardcage {
namespace {

namespace json = boost::json;
namespace wire = admin::v1;

json::value claim_json(const wire::Claim& claim) {
  json::array devices;
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
          {"devices", std::move(devices)}};
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
  Table table({"CLAIM", "DRIVER", "DEVICES", "STATE", "PREPARED", "UID"});
  for (const auto& claim : list->claims())
    table.row({to_text(claim.ref()), claim.driver(), device_names(claim), claim.state(), to_rfc3339(claim.prepared()),
               claim.ref().uid()});
  table.print();
  return {};
}

}  // namespace

void add_claims(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("claims", "the claims that are prepared now");
  command->callback([&session] { session.outcome = run(session); });
}

}  // namespace cardcage
