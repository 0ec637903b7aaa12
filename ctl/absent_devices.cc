#include "ctl/absent_devices.h"

#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "ctl/admin.h"
#include "ctl/print.h"

namespace cardcage {
namespace {

bool is_down(const admin::v1::Module& module) {
  return module.devices() == 0 && module.state().state() != "ready" && module.state().state() != "draining";
}

struct NotOffered {
  std::string module, hardware, reason;
};

// Sorted by module and hardware. `module` may be empty.
Result<std::vector<NotOffered>> list_not_offered(const Session& session, const std::string& module) {
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListModules);
  if (!list) return std::unexpected(list.error());
  std::vector<NotOffered> all;
  for (const auto& one : list->modules()) {
    if (!module.empty() && one.name() != module) continue;
    const std::map<std::string, std::string> sorted(one.not_offered().begin(), one.not_offered().end());
    for (const auto& [hardware, reason] : sorted) all.push_back({one.name(), hardware, reason});
  }
  return all;
}

}  // namespace

std::string not_offered_hint(const Session& session, const std::string& module) {
  const auto all = list_not_offered(session, module);
  if (!all || all->empty()) return "";
  return fmt::format("{} of hardware {} not offered; see 'cagectl devices --not-offered'", count(all->size(), "piece"),
                     all->size() == 1 ? "is" : "are");
}

std::string not_offered_reason(const Session& session, const std::string& name) {
  if (const auto all = list_not_offered(session, ""))
    for (const NotOffered& one : *all)
      if (one.hardware == name) return ": it is not offered: " + one.reason;
  return "";
}

Status show_not_offered(const Session& session, const std::string& module) {
  const auto all = list_not_offered(session, module);
  if (!all) return std::unexpected(all.error());
  if (session.json) {
    boost::json::array array;
    for (const NotOffered& one : *all)
      array.push_back({{"module", one.module}, {"hardware", one.hardware}, {"reason", one.reason}});
    print_json(array);
  } else if (all->empty()) {
    fmt::print("all hardware that was found is offered\n");
  } else {
    Table table({"HARDWARE", "MODULE", "WHY IT IS NOT OFFERED"});
    for (const NotOffered& one : *all) table.row({one.hardware, one.module, one.reason});
    table.print();
  }
  return {};
}

std::string no_devices_text(const Session& session, const std::string& module) {
  const std::string text = "no devices";
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListModules);
  if (!list) return text;
  std::vector<std::string> down;
  for (const auto& one : list->modules())
    if (is_down(one) && (module.empty() || one.name() == module)) down.push_back(one.name());
  if (down.empty()) return text;
  return fmt::format("{}: module{} '{}' do{} not run; see 'cagectl modules'", text, down.size() == 1 ? "" : "s",
                     fmt::join(down, "', '"), down.size() == 1 ? "es" : "");
}

}  // namespace cardcage
