// cagectl history
#include <chrono>
#include <optional>

#include "ctl/admin.h"
#include "ctl/claims.h"
#include "ctl/session.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

namespace json = boost::json;
namespace wire = admin::v1;
using std::chrono::milliseconds;

struct HistoryQuery {
  std::string claim, driver, device, since;
  std::uint32_t limit = 100;
};

// How long the claim was held; nothing if it never was.
std::optional<milliseconds> held(const wire::HistoryEntry& entry) {
  if (entry.claim().prepared() == 0 || entry.ended() < entry.claim().prepared()) return std::nullopt;
  return milliseconds(entry.ended() - entry.claim().prepared());
}

json::value entry_json(const wire::HistoryEntry& entry) {
  json::object object = claim_json(entry.claim());
  object["ended"] = time_json(entry.ended());
  object["heldSeconds"] = nullptr;
  if (const auto time = held(entry)) object["heldSeconds"] = time->count() / 1000;
  object["outcome"] = entry.outcome();
  return object;
}

void print(const wire::ListHistoryResponse& history) {
  if (history.entries().empty()) return fmt::print("no such claims in the history\n");
  Table table({"CLAIM", "DRIVER", "DEVICES", "PREPARED", "ENDED", "HELD", "OUTCOME", "UID"});
  for (const auto& entry : history.entries()) {
    const auto time = held(entry);
    table.row({to_text(entry.claim().ref()), entry.claim().driver(), device_names(entry.claim()),
               to_rfc3339(entry.claim().prepared()), to_rfc3339(entry.ended()),
               time ? format_duration(std::chrono::floor<std::chrono::seconds>(*time)) : "", entry.outcome(),
               entry.claim().ref().uid()});
  }
  table.print();
}

Status run(const Session& session, const HistoryQuery& query) {
  wire::ListHistoryRequest request;
  request.set_claim(query.claim);
  request.set_driver(query.driver);
  request.set_device(query.device);
  request.set_limit(query.limit);
  if (!query.since.empty()) {
    const auto ago = parse_duration(query.since);
    if (!ago) return within(ago.error(), "--since");
    const auto since = std::chrono::system_clock::now() - *ago;
    request.set_since(std::chrono::duration_cast<milliseconds>(since.time_since_epoch()).count());
  }
  const auto history = ask(session.socket, &wire::Admin::Stub::ListHistory, request);
  if (!history) return std::unexpected(history.error());
  if (!session.json) return print(*history), Status{};
  json::array entries;
  for (const auto& entry : history->entries()) entries.push_back(entry_json(entry));
  print_json(entries);
  return {};
}

}  // namespace

void add_history(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("history", "who held which device, when and for how long; newest first");
  auto query = std::make_shared<HistoryQuery>();
  command->add_option("--claim", query->claim, "UID, namespace/name or name of the claim")->type_name("CLAIM");
  command->add_option("--driver", query->driver, "only this driver")->type_name("DRIVER");
  command->add_option("--device", query->device, "only this device")->type_name("DEVICE");
  command->add_option("--since", query->since, "only what ended in this time until now, like 24h")
      ->type_name("DURATION");
  command->add_option("--limit", query->limit, "at most so many")
      ->check(CLI::Range(1u, 10'000u))
      ->capture_default_str();
  command->callback([&session, query] { session.outcome = run(session, *query); });
}

}  // namespace cardcage
