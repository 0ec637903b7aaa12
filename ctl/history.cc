// cagectl history
#include <chrono>

#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "ctl/since.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

struct HistoryQuery {
  std::string claim, driver, device, since;
  std::uint32_t limit = 100;
};

milliseconds held(const admin::v1::HistoryEntry& entry) { return milliseconds(entry.released() - entry.prepared()); }

std::string held_text(const admin::v1::HistoryEntry& entry) {
  const auto time = held(entry);
  return format_duration(time < std::chrono::seconds(1) ? time : std::chrono::floor<std::chrono::seconds>(time));
}

json::value history_entry_json(const admin::v1::HistoryEntry& entry) {
  return {{"claim", to_json(entry.ref())},
          {"driver", entry.driver()},
          {"module", entry.module()},
          {"request", entry.request()},
          {"pool", entry.pool()},
          {"device", entry.device()},
          {"shareID", text_json(entry.share_id())},
          {"prepared", time_json(entry.prepared())},
          {"released", time_json(entry.released())},
          {"heldSeconds", held(entry).count() / 1000}};
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
  if (!session.json) return print_history(*history), Status{};
  json::array entries;
  for (const auto& entry : history->entries()) entries.push_back(history_entry_json(entry));
  print_json(entries);
  return {};
}

}  // namespace

void add_history(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("history", "show who held which device, when and for how long; newest first");
  auto query = std::make_shared<HistoryQuery>();
  command->add_option("--claim", query->claim, "UID, namespace/name or name of the claim")->type_name("CLAIM");
  command->add_option("--driver", query->driver, "only this driver")->type_name("DRIVER");
  command->add_option("--device", query->device, "only this device")->type_name("DEVICE");
  command->add_option("--since", query->since, "only what was released within this time, such as 24h")
      ->check(check_duration)
      ->type_name("DURATION");
  add_limit(*command, query->limit);
  command->callback([&session, query] { session.outcome = show_history(session, *query); });
}

}  // namespace cardcage
