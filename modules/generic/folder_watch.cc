#include "modules/generic/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cardcage::generic {
namespace {

constexpr std::uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;

}  // namespace

FolderWatch::~FolderWatch() { stop(); }

void FolderWatch::start() {
  if (!host_.has_poll()) return;
  descriptor_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (descriptor_ < 0)
    throw cage::Error(CAGE_RESOURCE_EXHAUSTED, std::string("cannot watch /dev: ") + std::strerror(errno) +
                                                   "; raise fs.inotify.max_user_instances with sysctl");
  host_.poll(descriptor_);
}

void FolderWatch::stop() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0) return;
  try {
    host_.stop_polling(descriptor);
  } catch (const cage::Error&) {  // it is closed either way
  }
  ::close(descriptor);
  watched_.clear();
}

void FolderWatch::watch(const std::set<std::filesystem::path>& folders) {
  if (descriptor_ < 0) return;
  std::erase_if(watched_, [&](const auto& old) {
    if (folders.contains(old.first)) return false;
    ::inotify_rm_watch(descriptor_, old.second);
    return true;
  });
  for (const auto& folder : folders) {
    // Also those that are watched: a folder may have been replaced by another of the same name.
    const int watch = ::inotify_add_watch(descriptor_, folder.c_str(), kChanges);
    if (watch >= 0)
      watched_[folder] = watch;
    else if (errno != ENOENT && failed_.insert(folder).second)
      host_.warn() << "cannot watch " << folder.native() << ": " << std::strerror(errno)
                   << "; changes there are seen within half a minute";
  }
}

bool FolderWatch::take(const cage::Event& event) {
  if (event.type != cage::Event::Type::descriptor || event.descriptor != descriptor_) return false;
  alignas(inotify_event) std::array<char, 4096> events;
  while (::read(descriptor_, events.data(), events.size()) > 0) {
  }
  return true;
}

}  // namespace cardcage::generic
