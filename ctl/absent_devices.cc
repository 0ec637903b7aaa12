#include "ctl/absent_devices.h"

#include <fmt/ranges.h>

#include <vector>

#include "ctl/admin.h"

namespace cardcage {
namespace {

bool is_down(const admin::v1::Module& module) {
  return module.devices() == 0 && module.state().state() != "ready" && module.state().state() != "draining";
}

}  // namespace

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
