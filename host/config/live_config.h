// Follows the configuration file while the daemon runs: checks each new version as a whole and has the differences
// applied.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/config/plan.h"
#include "host/core/folder_watch.h"
#include "host/core/wakeup.h"

namespace cardcage {

// The state of the configuration, for operators.
struct ConfigState {
  std::vector<std::string> errors;                // problems of the file, with positions; empty = the file is in effect
  std::vector<std::string> restart;               // keys whose change waits for a restart
  std::chrono::system_clock::time_point applied;  // when a file was last applied, or found to mean the same
  std::uint64_t reloads = 0, failures = 0;        // numbers of files applied and refused
};

struct ReloadResult {
  std::vector<std::string> errors;  // if there are any, nothing is applied
  ConfigPlan plan;
};

// [core] The file may be replaced by a rename, overwritten in place, or reached through links that are swapped
// (ConfigMaps). It is read once it has not changed for a moment; a broken or missing file changes nothing. inotify(7)
// reports changes; without it, or if it misses one, the file is checked every half minute.
class LiveConfig {
 public:
  // Carries out `plan` and updates `running`, without suspending.
  using Apply = std::function<void(Config wanted, const ConfigPlan& plan)>;

  // `running` is the configuration with which the daemon started. It must outlive this object; Apply keeps it current.
  LiveConfig(asio::io_context& core, Clock& clock, std::filesystem::path file, const Config& running, Apply apply);

  // Returns after stop().
  Task<void> run();
  void stop();
  // Reads the file at once and applies it even if it has not changed. With `dry_run` it only returns the plan.
  ReloadResult reload(bool dry_run);

  const std::filesystem::path& file() const { return file_; }
  const ConfigState& state() const { return state_; }

 private:
  void watch_folders();
  // Reloads a file that has changed and settled. True if it is still changing.
  bool check_file();
  void refuse(const std::vector<std::string>& errors);

  Clock& clock_;
  const std::filesystem::path file_;
  const Config& running_;
  const Apply apply_;
  ConfigState state_;
  // Digests of the content that was processed last and seen last, or the reason why the file cannot be read.
  std::string processed_, seen_;
  Wakeup wake_;
  FolderWatch watch_;
  bool stopping_ = false;
};

}  // namespace cardcage
