// The functions that a module may call at any time and from any thread: cage_host.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "cardcage/module.h"
#include "host/core/log.h"
#include "host/instance/line_budget.h"
#include "host/model/device.h"
#include "host/model/last_lines.h"

namespace cardcage {

// Converts a level of the module ABI or of worker.proto, which have our numbers; an unknown one counts as an error.
LogLevel log_level_of(std::uint32_t level);

// What a module reported since the last take(); only the latest health of a device is kept.
struct ModuleNews {
  bool rescan = false;
  std::map<std::string, Health> health;
};

// Bounded whatever a module does: one report is kept per device, and the log gets a limited number of lines per second.
class HostServices {
 public:
  // `arrived` is called on a thread of the module, with no lock held, when news arrive and none were pending.
  HostServices(std::string module, std::function<void()> arrived);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const cage_host* table() const { return &table_; }
  // [any-thread] Ignores everything from now on.
  void close() { closed_.store(true); }
  // [any-thread] The last lines that it logged.
  std::vector<SaidLine> last_lines();
  // [any-thread] Returns the pending news and forgets them.
  ModuleNews take();

 private:
  void log(std::uint32_t level, cage_str text);
  void note_health(const cage_health* given);
  void note_rescan();
  // Applies `change` to the news, and calls `arrived` if none were pending.
  template <class Change>
  void note(Change change);

  static HostServices& self_of(const cage_host* table) { return *static_cast<HostServices*>(table->host_data); }

  std::string module_;
  std::function<void()> arrived_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  ModuleNews news_;
  bool pending_ = false;
  LineBudget log_budget_;
  LastLines last_lines_;
  cage_host table_;
};

}  // namespace cardcage
