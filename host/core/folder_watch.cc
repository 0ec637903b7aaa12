#include "host/core/folder_watch.h"

#include <sys/inotify.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "host/core/unique_fd.h"

namespace cardcage {

struct FolderWatch::Feed {
  Feed(asio::io_context& core, UniqueFd fd, std::function<void()> callback)
      : events(core, fd.release()), changed(std::move(callback)) {}
  asio::posix::stream_descriptor events;
  std::function<void()> changed;
};

FolderWatch::FolderWatch(asio::io_context& core, std::function<void()> changed) {
  UniqueFd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) return;
  feed_ = std::make_shared<Feed>(core, std::move(fd), std::move(changed));
  spawn(core, read_loop(feed_));
}

FolderWatch::~FolderWatch() {
  if (!feed_) return;
  boost::system::error_code ignored;
  feed_->events.close(ignored);
}

Status FolderWatch::watch(const std::filesystem::path& folder, Events events) {
  if (!feed_) return fail(Code::kResourceExhausted, "no inotify instance is left: raise fs.inotify.max_user_instances");
  constexpr std::uint32_t kMask = IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  constexpr std::uint32_t kArrivals = IN_CREATE | IN_MOVED_TO, kWrites = IN_CLOSE_WRITE | IN_ATTRIB;
  const std::uint32_t more = events == Events::kRemovals      ? 0
                             : events == Events::kArrivalsToo ? kArrivals
                                                              : kArrivals | kWrites;
  if (::inotify_add_watch(feed_->events.native_handle(), folder.c_str(), kMask | more) < 0)
    return fail_errno(errno, fmt::format("cannot watch folder '{}'", folder.native()));
  return {};
}

Task<void> FolderWatch::read_loop(std::shared_ptr<Feed> feed) {
  std::array<char, 4096> buffer{};
  for (;;) {
    boost::system::error_code failed;
    co_await feed->events.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, failed));
    if (failed || !feed->events.is_open()) co_return;
    feed->changed();
  }
}

}  // namespace cardcage
