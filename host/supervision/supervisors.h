// The modules of the host: those that are configured, and those that drain.
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
    Supervisor::Listener listener;
    // The modules, their rules or the reason why one drains have changed; all of them in the order of all().
    std::function<void(const std::vector<const Supervisor*>& modules)> arranged;
    // How many claims hold devices of the module.
    std::function<std::size_t(const std::string& module)> held;
  };
  // None before configure().
  Supervisors(Environment environment, const std::filesystem::path& modules_dir);

  // The modules from now on. Those that are not among them drain; one that drained and is among them again goes on.
  // `plan` tells which ones got another name.
  void configure(const Config& config, const ConfigPlan& plan);
  // Looks after their files until stop().
  Task<void> watch_files() { return files_.run(); }
  // Lets those go that drain and hold nothing. To be repeated while it is untidy().
  Task<void> tidy();
  bool untidy() const;
  // Tries again what was refused: the names of those modules.
  std::vector<std::string> retry();
  // Nothing may be configured any more.
  Task<void> stop();

  // In the order of the configuration, then those that drain.
  std::vector<const Supervisor*> all() const;
  // By the name in the configuration; null if there is none.
  Supervisor* find(const std::string& name) const;
  // Why it drains and what it waits for, for people; empty if it does not.
  std::string draining(const Supervisor& supervisor) const;

 private:
  struct Entry {
    std::unique_ptr<Supervisor> supervisor;
    bool removed = false, file_gone = false;
  };
  Entry take(const std::string& name);
  void update(Entry& entry) const;
  // Not one that has let go of its instance: it only waits for its file.
  static bool is_draining(const Entry& entry);
  bool is_over(const Entry& entry) const;
  void arrange();
  void file_changed(const std::filesystem::path& file, bool there);

  const Environment environment_;
  std::vector<Entry> all_;
  ModuleFiles files_;
  bool stopping_ = false;
};

}  // namespace cardcage
