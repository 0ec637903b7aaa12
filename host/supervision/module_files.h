// Watches the files of modules: a file may be replaced by a rename, overwritten in place, reached through a link that
// is replaced, or removed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "host/core/folder_watch.h"
#include "host/core/wakeup.h"

namespace cardcage {

// [core] Uses inotify(7), and polls every 30 s as well: inotify may be unavailable, and not every change of a path
// causes an event.
class ModuleFiles {
 public:
  struct Listener {
    // The file was changed or came back, and has not been written for a moment: a copy takes some time.
    std::function<void(const std::filesystem::path& file)> changed;
    // The file has been missing for longer than an installer takes to replace it.
    std::function<void(const std::filesystem::path& file)> gone;
  };
  ModuleFiles(asio::io_context& core, Clock& clock, std::vector<std::filesystem::path> folders, Listener listener);

  // Sets the files, relative to the first folder that has them. The present state of a new one, missing or not, is not
  // reported.
  void follow(const std::set<std::filesystem::path>& files);
  // Runs until stop().
  Task<void> run();
  // Ends run() and waits for its end.
  Task<void> stop();

 private:
  // From stat(2): device, inode, size, and the times of modification and change.
  using Stamp = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct File {
    std::optional<Stamp> reported, seen;
    std::optional<Instant> missing_since;
  };
  struct Found {
    bool exists = true;  // true if unknown
    std::optional<Stamp> stamp;
  };
  Found find(const std::filesystem::path& file) const;
  void watch_folders();
  // Both return true if a file is being written, or may come back: then the next check is due soon.
  bool check_all();
  bool check(const std::filesystem::path& name, File& file);

  Clock& clock_;
  const std::vector<std::filesystem::path> folders_;
  const Listener listener_;
  std::map<std::filesystem::path, File> files_;
  Wakeup wake_;
  FolderWatch watch_;
  bool stopping_ = false;
  OneShot<bool> ended_;
};

}  // namespace cardcage
