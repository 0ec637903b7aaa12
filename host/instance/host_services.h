// What a module may ask of the host at any time and from any thread: cage_host.
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

// The levels of the module ABI and of worker.proto, which count as ours do; what is beyond the last is an error.
LogLevel log_level_of(std::uint32_t level);

// What modules said unasked since it was taken last; the newest word on each device counts.
struct ModuleNews {
  bool rescan = false;
  std::map<std::string, Health> health;
};

// Bounded whatever a module does: news are kept once per device, log lines per second.
class HostServices {
 public:
  // `arrived` is called, from the module's thread and without a lock held, when there are news and there were none.
  HostServices(std::string module, std::function<void()> arrived);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const cage_host* table() const { return &table_; }
  // [any-thread] From now on everything is ignored and nothing arrives.
  void close() { closed_.store(true); }
  // [any-thread] The lines that it logged last.
  std::vector<SaidLine> last_lines();
  // [any-thread] The news, which are gone afterwards.
  ModuleNews take();

 private:
  void log(std::uint32_t level, cage_str text);
  void note_health(const cage_health* given);
  void note_rescan();
  // Runs `change` on the news and tells that they arrived.
  template <class Change>
  void note(Change change);

  static HostServices& self_of(const cage_host* table) { return *static_cast<HostServices*>(table->host_data); }

  std::string module_;
  std::function<void()> arrived_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  ModuleNews news_;
  bool told_ = false;
  LineBudget log_budget_;
  LastLines last_lines_;
  cage_host table_;
};

}  // namespace cardcage
