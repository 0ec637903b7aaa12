// The configuration file while the daemon runs: follows it, judges it as a whole, and has what differs applied.
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

// What operators see of it.
struct ConfigState {
  std::vector<std::string> errors;   // of the file as it is now, with their places; empty = it is what runs
  std::vector<std::string> restart;  // keys whose change waits for a restart
  std::chrono::system_clock::time_point applied;  // when the file was last taken, or found to mean the same
  std::uint64_t reloads = 0, failures = 0;        // files that were taken, and that were refused
};

struct ReloadResult {
  std::vector<std::string> errors;  // not empty: nothing is applied
  ConfigPlan plan;
};

// [core] The file may be replaced by a rename, overwritten in place, or reached through links that are swapped
// (ConfigMaps). It is judged once it was at rest for a moment; a broken or missing one changes nothing. Told by
// inotify(7) where there is some left, and looks every half minute anyway.
class LiveConfig {
 public:
  // Makes `running` what `plan` asks for; ends before the core does anything else.
  using Apply = std::function<void(Config wanted, const ConfigPlan& plan)>;

  // `running` is what the file said when the daemon started; it outlives this and follows Apply.
  LiveConfig(asio::io_context& core, Clock& clock, std::filesystem::path file, const Config& running, Apply apply);

  // Until stop().
  Task<void> run();
  void stop();
  // Reads the file at once, whether it differs or not; with `dry_run` that is all.
  ReloadResult reload(bool dry_run);

  const std::filesystem::path& file() const { return file_; }
  const ConfigState& state() const { return state_; }

 private:
  void watch_folders();
  // True if the file is being written.
  bool look();
  void refuse(const std::vector<std::string>& errors);

  Clock& clock_;
  const std::filesystem::path file_;
  const Config& running_;
  const Apply apply_;
  ConfigState state_;
  std::string known_, seen_;  // digest of what was judged last, and of what was seen last; or why it cannot be read
  Wakeup wake_;
  FolderWatch watch_;
  bool stopping_ = false;
};

}  // namespace cardcage
