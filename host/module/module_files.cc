#include "host/module/module_files.h"

#include <sys/stat.h>

namespace cardcage {
namespace {

constexpr Duration kAnyway = std::chrono::seconds(30);
constexpr Duration kRest = std::chrono::milliseconds(300);

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

ModuleFiles::ModuleFiles(asio::io_context& core, Clock& clock, std::filesystem::path modules_dir)
    : clock_(clock), modules_dir_(std::move(modules_dir)), wake_(core), watch_(core, [this] { wake_.wake(); }) {}

void ModuleFiles::add(const std::filesystem::path& file, std::function<void()> changed) {
  const auto path = modules_dir_ / file;
  const auto now = stamp_of(path);
  files_.push_back({path, std::move(changed), now, now});
}

std::optional<ModuleFiles::Stamp> ModuleFiles::stamp_of(const std::filesystem::path& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  return Stamp{about.st_dev, about.st_ino, about.st_size, nanoseconds(about.st_mtim), nanoseconds(about.st_ctim)};
}

void ModuleFiles::watch_folders() {
  // A failure costs the time to the next look, no more.
  for (const File& file : files_) std::ignore = watch_.watch(file.path.parent_path(), FolderWatch::Of::kWritesToo);
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
  for (File& file : files_) {
    const auto now = stamp_of(file.path);
    const bool at_rest = now == std::exchange(file.seen, now);
    if (!now || now == file.known) continue;
    moving |= !at_rest;
    if (!at_rest) continue;
    file.known = now;
    file.changed();
  }
  return moving;
}

void ModuleFiles::stop() {
  stopping_ = true;
  wake_.wake();
}

}  // namespace cardcage
