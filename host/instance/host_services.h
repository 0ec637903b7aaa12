// The functions that a module may call at any time and from any thread: cage_host.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "cardcage/module.h"
#include "host/core/line_budget.h"
#include "host/core/log.h"
#include "host/instance/descriptor_poll.h"
#include "host/model/device.h"
#include "host/model/last_lines.h"
#include "host/model/node_roots.h"
#include "host/model/progress.h"
#include "host/sinks/asks.h"
#include "host/sinks/kept_health.h"
#include "host/sinks/stated_causes.h"

namespace cardcage {

// Converts a level of the module ABI or of worker.proto, which have our numbers; an unknown one counts as an error.
LogLevel log_level_of(std::uint32_t level);

// A module's reports since the last take(); only the latest progress of a call is kept.
struct ModuleNews {
  bool rescan = false;
  std::map<std::uint64_t, Progress> progress;  // by call
  std::map<std::string, Statements> health;    // by device
  std::set<std::int32_t> descriptors;          // ready descriptors
};

// Bounded for every module: one report is kept per device and cause, and the log gets a limited number of lines per
// second.
class HostServices {
 public:
  // `arrived` is called on a thread of the module, with no lock held, when news arrive and none were pending. `asks`
  // outlives the object. `has_events`: the module has cage.watch, so it may have descriptors polled. `causes` are its
  // declared causes; `minor` is the one by which the module knows the host.
  HostServices(std::string module, std::function<void()> arrived, Asks& asks, bool has_events = false,
               const std::vector<CauseDeclaration>& causes = {}, std::uint32_t minor = CAGE_ABI_MINOR);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const cage_host* table() const { return &table_; }
  // Returns the Asks of the instance that has this cage_host.
  static Asks& asks_of(const cage_host* table) { return self_of(table).asks_; }
  // Call it for a new instance.
  void open(const NodeRoots& roots);
  // [any-thread] Ignores everything from now on.
  void close();
  // The descriptors that the module has polled.
  DescriptorPoll& descriptors() { return descriptors_; }
  // [any-thread] The last lines that it logged.
  std::vector<SaidLine> last_lines();
  // [any-thread]
  void note_progress(std::uint64_t call, Progress progress);
  // [any-thread] Returns the pending news and forgets them.
  ModuleNews take();

 private:
  void log(std::uint32_t level, cage_str text);
  void note_health(const cage_health* given);
  void note_rescan();
  void note_descriptor(std::int32_t descriptor);
  cage_status add_descriptor(std::int32_t descriptor);
  cage_status remove_descriptor(std::int32_t descriptor);
  // Implements cage_exec.run(). Fails if the program did not start.
  Result<ExecResult> run_program(const cage_call* call, const cage_command* command);
  // Applies `change` to the news, and calls `arrived` if none were pending.
  template <class Change>
  void note(Change change);

  static HostServices& self_of(const cage_host* table) { return *static_cast<HostServices*>(table->host_data); }

  std::string module_;
  std::function<void()> arrived_;
  Asks& asks_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  ModuleNews news_;  // without health
  KeptHealth health_;
  bool pending_ = false;
  const StatedCauses causes_;
  LineBudget log_budget_;
  LastLines last_lines_;
  NodeRoots roots_;
  cage_host table_;
  cage_exec exec_{};
  cage_poll poll_{};
  const bool has_events_;
  DescriptorPoll descriptors_;
};

}  // namespace cardcage
