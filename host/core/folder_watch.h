// Reports files that disappear from a few folders, appear in them, or are written there.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "host/core/task.h"

namespace cardcage {

// [core] inotify(7) as a hint: `changed` means "look again" without naming the change.
class FolderWatch {
 public:
  FolderWatch(asio::io_context& core, std::function<void()> changed);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Call it again whenever another folder may have taken the name; for the same folder that does nothing. Fails if the
  // user's inotify instances or watches are used up: the owner must then look from time to time.
  enum class Events : std::uint8_t { kRemovals, kArrivalsToo, kWritesToo };
  Status watch(const std::filesystem::path& folder, Events events = Events::kRemovals);

 private:
  struct Feed;
  static Task<void> read_loop(std::shared_ptr<Feed> feed);
  std::shared_ptr<Feed> feed_;  // null without inotify
};

}  // namespace cardcage
