// Notices that the file of a module is another one: replaced by a rename, or overwritten in place.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "host/core/folder_watch.h"
#include "host/core/wakeup.h"

namespace cardcage {

// [core] Told by inotify(7) where there is some left, and looks every half minute anyway.
class ModuleFiles {
 public:
  ModuleFiles(asio::io_context& core, Clock& clock, std::filesystem::path modules_dir);

  // `changed` is called when the file, which is below modules_dir, differs from what it is now and has been at rest for
  // a while: who copies a module there takes some time to do so. A file that is gone is no change.
  void add(const std::filesystem::path& file, std::function<void()> changed);
  // Until stop().
  Task<void> run();
  void stop();

 private:
  // What stat(2) tells of a content: device, inode, size, and both times.
  using Stamp = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct File {
    std::filesystem::path path;
    std::function<void()> changed;
    std::optional<Stamp> known, seen;
  };
  static std::optional<Stamp> stamp_of(const std::filesystem::path& path);
  void watch_folders();
  // True if one of them is being written.
  bool look();

  Clock& clock_;
  const std::filesystem::path modules_dir_;
  std::vector<File> files_;
  Wakeup wake_;
  FolderWatch watch_;
  bool stopping_ = false;
};

}  // namespace cardcage
