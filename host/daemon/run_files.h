// Restores sockets and files of the daemon: people and clean-up tools remove folders below /run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "host/core/folder_watch.h"
#include "host/core/wakeup.h"

namespace cardcage {

// [core]
class RunFiles {
 public:
  // `restore` restores everything, and returns the result of each part; the folders are those to watch.
  using Restore = std::function<std::vector<Status>()>;
  RunFiles(asio::io_context& core, Clock& clock, Restore restore, std::vector<std::filesystem::path> folders);

  // Returns soon after stop().
  Task<void> run();
  void stop();
  // Returns what could not be restored, for people.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  Clock& clock_;
  const Restore restore_;
  const std::vector<std::filesystem::path> folders_;
  Wakeup changed_;
  FolderWatch watch_;
  std::vector<std::string> problems_;
  bool stopping_ = false;
};

}  // namespace cardcage
