// cagectl history
#include <chrono>

#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "ctl/since.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds;

struct HistoryQuery {
  std::string claim, driver, device, since;
  std::uint32_t limit = 100;
};

std::string held_text(const admin::v1::HistoryEntry& entry) {
  const auto time = std::chrono::round<milliseconds>(std::chrono::duration<double>(entry.held_seconds()));
  return format_duration(time < std::chrono::seconds(1) ? time : std::chrono::floor<std::chrono::seconds>(time));
}

void print_history(const admin::v1::ListHistoryResponse& history) {
  if (history.entries().empty()) return fmt::print("no matching claims in the history\n");
  Table table({"DEVICE", "DRIVER", "CLAIM", "PREPARED", "RELEASED", "HELD", "UID"});
  for (const auto& entry : history.entries())
    table.row({entry.device(), entry.driver(), to_text(entry.ref()), to_rfc3339(entry.prepared()),
               to_rfc3339(entry.released()), held_text(entry), entry.ref().uid()});
  table.print();
}

Status show_history(const Session& session, const HistoryQuery& query) {
  admin::v1::ListHistoryRequest request;
  request.set_claim(query.claim);
  request.set_driver(query.driver);
  request.set_device(query.device);
  request.set_limit(query.limit);
  const auto earliest = since(query.since);
  if (!earliest) return std::unexpected(earliest.error());
  request.set_since(*earliest);
  const auto history = ask(session.socket, &admin::v1::Admin::Stub::ListHistory, request);
  if (!history) return std::unexpected(history.error());
  if (session.json)
    print_json(*history, "entries");
  else
    print_history(*history);
  return {};
}

}  // namespace

void add_history(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("history", "show who held which device, when and for how long; newest first");
  auto query = std::make_shared<HistoryQuery>();
  command->add_option("--claim", query->claim, "UID, namespace/name or name of the claim")->type_name("CLAIM");
  command->add_option("--driver", query->driver, "only this driver")->type_name("DRIVER");
  command->add_option("--device", query->device, "only this device")->type_name("DEVICE");
  add_duration(*command, "--since", query->since, "only what was released within this time, such as 24h");
  add_limit(*command, query->limit);
  command->callback([&session, query] { session.outcome = show_history(session, *query); });
}

}  // namespace cardcage
