// Restores sockets and files that other processes have taken or removed.
#include <set>
#include <utility>

#include "host/core/folder_watch.h"
#include "host/daemon.h"
#include "host/kubelet/socket_records.h"

namespace cardcage {
namespace {

// inotify may be unavailable, and loses events when its queue overflows.
constexpr Duration kRunFilesInterval = std::chrono::seconds(30);
// The interval of attempts to get a socket that another process has.
constexpr Duration kOpenRetry = std::chrono::seconds(1);

}  // namespace

// The kubelet keeps a name registered as long as its socket exists. A served name replaces its own socket.
void Daemon::remove_left_sockets() const {
  std::set<std::string> served;
  for (const Driver* driver : drivers_->all()) served.insert(driver->name().name);
  remove_recorded_sockets(config_.node.state_dir / kSocketRecords, served);
  remove_stale_sockets(config_.node.device_plugins_dir);
  remove_stale_sockets(config_.node.kubelet_root / "plugins_registry");
}

// The previous daemon is about to exit. This one registers the drivers, too, so that the kubelet always has one to
// call: it repeats a call that failed only after a minute or more.
void Daemon::stand_by() {
  if (!hand_over_.asked()) return;
  standby_.open();
  if (standby_.registered()) hand_over_.say_registered();
}

void Daemon::close_standby() {
  bool closed = false;
  spawn(core_, [](Standby& standby, bool& done) -> Task<void> {
    co_await standby.close();
    done = true;
  }(standby_, closed));
  while (!closed) core_.run_one();
  core_.restart();
}

// People and clean-up tools remove folders below /run that the daemon needs.
Task<void> Daemon::keep_run_files() {
  FolderWatch folders(core_, [this] { run_files_changed_.wake(); });
  while (!stopping_) {
    run_file_problems_.clear();
    std::vector<Status> all = {ledger_->restore_intents(), hooks_->restore(), writes_->records->restore(),
                               quiesced_->restore(), services_->restore()};
    for (const auto& admin : admin_) all.push_back(admin->restore());
    for (const Status& kept : all)
      if (!kept) run_file_problems_.push_back(kept.error().message);
    for (const std::string& problem : run_file_problems_) log_limited(LogLevel::kError, "run files", problem);
    hook_file_->look();
    // A folder that is removed before it is watched is noticed in the next round.
    const NodeConfig& node = config_.node;
    for (const auto& folder : {node.run_dir, node.admin_socket.parent_path(), hook_file_->folder()})
      std::ignore = folders.watch(folder);
    if (!node.read_only_socket.empty()) std::ignore = folders.watch(node.read_only_socket.parent_path());
    update_labels();
    const Duration pause = run_file_problems_.empty() ? kRunFilesInterval : kOpenRetry;
    co_await run_files_changed_.wait_for(clock_, pause);
  }
}

}  // namespace cardcage
