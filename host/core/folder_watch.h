// Tells when something disappears from a few folders, comes into them, or is written there.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "host/core/task.h"

namespace cardcage {

// [core] inotify(7) as a hint: `changed` says look again, not what happened.
class FolderWatch {
 public:
  FolderWatch(asio::io_context& core, std::function<void()> changed);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Repeat it whenever the folder may be another one under the same name; for the same one it does nothing. Fails if
  // the user's inotify instances or watches are used up: look from time to time then.
  enum class Of : std::uint8_t { kDepartures, kArrivalsToo, kWritesToo };
  Status watch(const std::filesystem::path& folder, Of of = Of::kDepartures);

 private:
  struct Feed;
  static Task<void> read_loop(std::shared_ptr<Feed> feed);
  std::shared_ptr<Feed> feed_;  // null without inotify
};

}  // namespace cardcage
