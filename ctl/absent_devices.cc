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
std::vector<NotOffered> not_offered(const admin::v1::ListModulesResponse& list, const std::string& module) {
  std::vector<NotOffered> all;
  for (const auto& one : list.modules()) {
    if (!module.empty() && one.name() != module) continue;
    const std::map<std::string, std::string> sorted(one.not_offered().begin(), one.not_offered().end());
    for (const auto& [hardware, reason] : sorted) all.push_back({one.name(), hardware, reason});
  }
  return all;
}

}  // namespace

admin::v1::ListModulesResponse modules_for_hints(const Session& session) {
  return ask(session.socket, &admin::v1::Admin::Stub::ListModules).value_or(admin::v1::ListModulesResponse());
}

std::string not_offered_hint(const admin::v1::ListModulesResponse& list, const std::string& module) {
  const std::size_t pieces = not_offered(list, module).size();
  if (pieces == 0) return "";
  return fmt::format("{} of hardware {} not offered; see 'cagectl devices --not-offered'", count(pieces, "piece"),
                     pieces == 1 ? "is" : "are");
}

std::string not_offered_reason(const admin::v1::ListModulesResponse& list, const std::string& name) {
  for (const NotOffered& one : not_offered(list, ""))
    if (one.hardware == name) return ": it is not offered: " + one.reason;
  return "";
}

Status show_not_offered(const Session& session, const std::string& module) {
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListModules);
  if (!list) return std::unexpected(list.error());
  const auto all = not_offered(*list, module);
  if (session.json) {
    boost::json::array array;
    for (const NotOffered& one : all)
      array.push_back({{"module", one.module}, {"hardware", one.hardware}, {"reason", one.reason}});
    print_json(array);
  } else if (all.empty()) {
    fmt::print("all hardware that was found is offered\n");
  } else {
    Table table({"HARDWARE", "MODULE", "WHY IT IS NOT OFFERED"});
    for (const NotOffered& one : all) table.row({one.hardware, one.module, one.reason});
    table.print();
  }
  return {};
}

std::string no_devices_text(const admin::v1::ListModulesResponse& list, const std::string& module) {
  std::vector<std::string> down;
  for (const auto& one : list.modules())
    if (is_down(one) && (module.empty() || one.name() == module)) down.push_back(one.name());
  if (down.empty()) return "no devices";
  return fmt::format("no devices: module{} '{}' do{} not run; see 'cagectl modules'", down.size() == 1 ? "" : "s",
                     fmt::join(down, "', '"), down.size() == 1 ? "es" : "");
}

}  // namespace cardcage
