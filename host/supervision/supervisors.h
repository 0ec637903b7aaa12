// All modules of the host: the configured ones, and removed ones that still drain.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "host/config/plan.h"
#include "host/supervision/module_files.h"
#include "host/supervision/supervisor.h"

namespace cardcage {

// [core]
class Supervisors {
 public:
  struct Environment {
    asio::io_context& core;
    Clock& clock;
    Supervisor::Loader loader;
    QuiesceMarks& quiesced;
    HealthStore& health;
    Supervisor::Listener listener;
    // The modules, their rules or a reason to drain have changed. In the order of all().
    std::function<void(const std::vector<const Supervisor*>& modules)> arranged;
    // Returns the number of claims that hold devices of the module.
    std::function<std::size_t(const std::string& module)> held;
  };
  // Empty before configure().
  Supervisors(Environment environment, std::vector<std::filesystem::path> modules_dirs);

  // Sets the modules. The others drain; a draining one that is configured again continues. `plan` lists the renamed
  // ones.
  void configure(const Config& config, const ConfigPlan& plan);
  // Runs until stop().
  Task<void> watch_files() { return files_.run(); }
  // Stops draining modules without holders. Repeat it while untidy().
  Task<void> tidy();
  bool untidy() const;
  // Tries every refused configuration and file again. Returns the names of the modules.
  std::vector<std::string> retry();
  // Returns when none of these modules is undecided any more, at `deadline`, or when the supervisors stop.
  Task<void> wait_until_decided(std::vector<std::string> modules, Instant deadline);
  // Returns when no call of any module is open, or at `deadline`.
  Task<void> finish_calls(Instant deadline);
  // Stops all modules at the same time, so that the slowest one determines the time. configure() must not follow.
  Task<void> stop();

  // Returns the configured modules in their order, then the draining ones.
  std::vector<const Supervisor*> all() const;
  // Finds a module by its name in the configuration; null if there is none.
  Supervisor* find(const std::string& name) const;
  // Returns the reason for draining and the holders it waits for, for people; empty if it does not drain.
  std::string draining(const Supervisor& supervisor) const;

 private:
  struct Entry {
    std::unique_ptr<Supervisor> supervisor;
    bool removed = false, file_gone = false;
  };
  Entry extract(const std::string& name);
  Supervisor::Listener listener();
  void update_drain(Entry& entry) const;
  // A module without a file drains only while it has an instance; after that it just waits for its file.
  static bool is_draining(const Entry& entry);
  bool is_drained(const Entry& entry) const;
  void arrange();
  void file_changed(const std::filesystem::path& file, bool there);
  void wake_waiters();

  const Environment environment_;
  std::vector<Entry> all_;
  ModuleFiles files_;
  std::vector<OneShot<bool>> waiters_;  // callers of wait_until_decided(): each checks again when its event comes
  bool stopping_ = false;
};

}  // namespace cardcage
