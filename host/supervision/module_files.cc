#include "host/supervision/module_files.h"

#include <sys/stat.h>

#include <cerrno>

namespace cardcage {
namespace {

constexpr Duration kAnyway = std::chrono::seconds(30);
constexpr Duration kRest = std::chrono::milliseconds(300);
// From the removal of an old file to the first byte of the next one: an installer that does not rename.
constexpr Duration kGone = std::chrono::seconds(2);

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

ModuleFiles::ModuleFiles(asio::io_context& core, Clock& clock, std::filesystem::path modules_dir, Listener listener)
    : clock_(clock),
      modules_dir_(std::move(modules_dir)),
      listener_(std::move(listener)),
      wake_(core),
      watch_(core, [this] { wake_.wake(); }) {}

void ModuleFiles::follow(const std::set<std::filesystem::path>& files) {
  std::erase_if(files_, [&](const auto& entry) { return !files.contains(entry.first); });
  for (const auto& file : files) {
    if (files_.contains(file)) continue;
    const auto now = look_at(file).stamp;
    files_[file] = {now, now, std::nullopt};
  }
  wake_.wake();  // for the folders of the new ones
}

ModuleFiles::Look ModuleFiles::look_at(const std::filesystem::path& file) const {
  struct stat about{};
  if (::stat((modules_dir_ / file).c_str(), &about) != 0) return {errno != ENOENT && errno != ENOTDIR, std::nullopt};
  return {true,
          Stamp{about.st_dev, about.st_ino, about.st_size, nanoseconds(about.st_mtim), nanoseconds(about.st_ctim)}};
}

// Every folder on the way: any of them may be a link that is swapped. A failure costs the time to the next look.
void ModuleFiles::watch_folders() {
  for (const auto& [name, file] : files_) {
    auto folder = modules_dir_;
    std::ignore = watch_.watch(folder, FolderWatch::Events::kWritesToo);
    for (const auto& part : name.parent_path())
      std::ignore = watch_.watch(folder /= part, FolderWatch::Events::kWritesToo);
  }
}

Task<void> ModuleFiles::run() {
  while (!stopping_) {
    watch_folders();
    co_await wake_.wait_for(clock_, kAnyway);
    while (!stopping_ && look()) co_await clock_.sleep_for(kRest);
  }
}

bool ModuleFiles::look() {
  bool moving = false;
  const auto files = files_;  // who is told may follow others
  for (const auto& [name, before] : files) {
    const auto file = files_.find(name);
    if (file != files_.end()) moving |= look_for(name, file->second);
  }
  return moving;
}

bool ModuleFiles::look_for(const std::filesystem::path& name, File& file) {
  const auto [there, now] = look_at(name);
  const bool at_rest = now == std::exchange(file.seen, now);
  if (!there && file.known) {
    if (!file.missing) file.missing = clock_.now();
    if (clock_.now() - *file.missing < kGone) return true;
    file.known.reset();
    listener_.gone(name);
    return false;
  }
  if (there) file.missing.reset();
  if (!now || now == file.known) return false;
  if (!at_rest) return true;
  file.known = now;
  listener_.changed(name);
  return false;
}

void ModuleFiles::stop() {
  stopping_ = true;
  wake_.wake();
}

}  // namespace cardcage
