#include "host/supervision/module_files.h"

#include <sys/stat.h>

#include <cerrno>

namespace cardcage {
namespace {

constexpr Duration kPollInterval = std::chrono::seconds(30);
// A file that has not changed for this long is complete.
constexpr Duration kQuietTime = std::chrono::milliseconds(300);
// An installer that does not rename removes the old file and then writes the next one.
constexpr Duration kGoneAfter = std::chrono::seconds(2);

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

ModuleFiles::ModuleFiles(asio::io_context& core, Clock& clock, std::vector<std::filesystem::path> folders,
                         Listener listener)
    : clock_(clock),
      folders_(std::move(folders)),
      listener_(std::move(listener)),
      wake_(core),
      watch_(core, [this] { wake_.wake(); }),
      ended_(core) {}

void ModuleFiles::follow(const std::set<std::filesystem::path>& files) {
  std::erase_if(files_, [&](const auto& entry) { return !files.contains(entry.first); });
  for (const auto& file : files) {
    if (files_.contains(file)) continue;
    const auto now = find(file).stamp;
    files_[file] = {now, now, std::nullopt};
  }
  wake_.wake();  // to watch the folders of the new files
}

ModuleFiles::Found ModuleFiles::find(const std::filesystem::path& file) const {
  for (const auto& folder : folders_) {
    struct stat about{};
    if (::stat((folder / file).c_str(), &about) == 0)
      return {true,
              Stamp{about.st_dev, about.st_ino, about.st_size, nanoseconds(about.st_mtim), nanoseconds(about.st_ctim)}};
    if (errno != ENOENT && errno != ENOTDIR) return {true, std::nullopt};
  }
  return {false, std::nullopt};
}

// Watches every folder on the path: any of them may be a link that is replaced. Without a watch the next poll finds the
// change.
void ModuleFiles::watch_folders() {
  for (const auto& [name, file] : files_)
    for (auto folder : folders_) {
      std::ignore = watch_.watch(folder, FolderWatch::Events::kWritesToo);
      for (const auto& part : name.parent_path())
        std::ignore = watch_.watch(folder /= part, FolderWatch::Events::kWritesToo);
    }
}

Task<void> ModuleFiles::run() {
  while (!stopping_) {
    watch_folders();
    co_await wake_.wait_for(clock_, kPollInterval);
    while (!stopping_ && check_all()) co_await clock_.sleep_for(kQuietTime);
  }
  ended_.set(true);
}

bool ModuleFiles::check_all() {
  bool unfinished = false;
  const auto files = files_;  // a listener may call follow()
  for (const auto& [name, before] : files) {
    const auto file = files_.find(name);
    if (file != files_.end()) unfinished |= check(name, file->second);
  }
  return unfinished;
}

bool ModuleFiles::check(const std::filesystem::path& name, File& file) {
  const auto [exists, now] = find(name);
  const bool quiet = now == std::exchange(file.seen, now);
  if (!exists && file.reported) {
    if (!file.missing_since) file.missing_since = clock_.now();
    if (clock_.now() - *file.missing_since < kGoneAfter) return true;
    file.reported.reset();
    listener_.gone(name);
    return false;
  }
  if (exists) file.missing_since.reset();
  if (!now || now == file.reported) return false;
  if (!quiet) return true;
  file.reported = now;
  listener_.changed(name);
  return false;
}

Task<void> ModuleFiles::stop() {
  stopping_ = true;
  wake_.wake();
  co_await ended_.wait();
}

}  // namespace cardcage
