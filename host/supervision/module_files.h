// Notices that the file of a module is another one: replaced by a rename, overwritten in place, reached through a link
// that was swapped, or removed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "host/core/folder_watch.h"
#include "host/core/wakeup.h"

namespace cardcage {

// [core] Told by inotify(7) where there is some left, and looks every half minute anyway.
class ModuleFiles {
 public:
  struct Listener {
    // The file differs from what it was, or is back, and has been at rest for a while: who copies a module there takes
    // some time to do so.
    std::function<void(const std::filesystem::path& file)> changed;
    // It has not been there for longer than an installer takes to put the next one there.
    std::function<void(const std::filesystem::path& file)> gone;
  };
  ModuleFiles(asio::io_context& core, Clock& clock, std::filesystem::path modules_dir, Listener listener);

  // The files from now on, relative to modules_dir. One that is new here is as it is now; if it is not there, that is
  // no news.
  void follow(const std::set<std::filesystem::path>& files);
  // Until stop().
  Task<void> run();
  void stop();

 private:
  // What stat(2) tells of a content: device, inode, size, and both times.
  using Stamp = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct File {
    std::optional<Stamp> known, seen;
    std::optional<Instant> missing;  // since when it should be there
  };
  struct Look {
    bool there = true;  // or nobody can tell
    std::optional<Stamp> stamp;
  };
  Look look_at(const std::filesystem::path& file) const;
  void watch_folders();
  // True if one of them is being written, or may come back.
  bool look();
  bool look_for(const std::filesystem::path& name, File& file);

  Clock& clock_;
  const std::filesystem::path modules_dir_;
  const Listener listener_;
  std::map<std::filesystem::path, File> files_;
  Wakeup wake_;
  FolderWatch watch_;
  bool stopping_ = false;
};

}  // namespace cardcage
