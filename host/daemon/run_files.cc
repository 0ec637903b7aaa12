#include "host/daemon/run_files.h"

#include <tuple>
#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

// inotify may be unavailable, and loses events when its queue overflows.
constexpr Duration kRunFilesInterval = std::chrono::seconds(30);
// The interval of attempts to get a socket that another process has.
constexpr Duration kOpenRetry = std::chrono::seconds(1);

}  // namespace

RunFiles::RunFiles(asio::io_context& core, Clock& clock, Restore restore, std::vector<std::filesystem::path> folders)
    : clock_(clock), restore_(std::move(restore)), folders_(std::move(folders)), changed_(core), watch_(core, [this] {
        changed_.wake();
      }) {}

Task<void> RunFiles::run() {
  while (!stopping_) {
    problems_.clear();
    for (const Status& restored : restore_())
      if (!restored) problems_.push_back(restored.error().message);
    for (const std::string& problem : problems_) log_limited(LogLevel::kError, "run files", problem);
    // A folder that is removed before it is watched is noticed in the next round.
    for (const auto& folder : folders_)
      if (!folder.empty()) std::ignore = watch_.watch(folder);
    co_await changed_.wait_for(clock_, problems_.empty() ? kRunFilesInterval : kOpenRetry);
  }
}

void RunFiles::stop() {
  stopping_ = true;
  changed_.wake();
}

}  // namespace cardcage
