#include "host/instance/descriptor_poll.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>

#include "host/model/event.h"

namespace cardcage {
namespace {

// With EPOLLONESHOT, so that a descriptor that stays ready costs nothing until the module has been told.
epoll_event interest_in(std::int32_t descriptor, std::uint32_t generation) {
  epoll_event interest{};
  interest.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  interest.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(descriptor);
  return interest;
}

}  // namespace

Status DescriptorPoll::open() {
  if (thread_.joinable()) return {};
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC)), end(::eventfd(0, EFD_CLOEXEC));
  if (!epoll || !end) return fail_errno(errno, "cannot poll descriptors");
  epoll_event interest{};
  interest.events = EPOLLIN;  // generation 0 belongs to no descriptor
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, end.get(), &interest) != 0)
    return fail_errno(errno, "cannot poll descriptors");
  // The thread inherits the mask, and no signal of the process may end up on it [R9].
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, waits_with = epoll.get()] { wait(waits_with); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), "cage/poll");
  epoll_ = std::move(epoll);
  end_ = std::move(end);
  return {};
}

Status DescriptorPoll::add(std::int32_t descriptor) {
  const std::lock_guard lock(mutex_);
  if (closing_) return fail(Code::kFailedPrecondition, "the instance ends");
  if (polled_.size() == kMaxDescriptors && !polled_.contains(descriptor))
    return fail(Code::kResourceExhausted, "an instance has at most {} descriptors polled [R20]", kMaxDescriptors);
  // A closed descriptor's number may be reused by one that open() makes.
  if (::fcntl(descriptor, F_GETFD) < 0) return fail(Code::kInvalidArgument, "it is closed");
  if (auto opened = open(); !opened) return opened;
  epoll_event interest = interest_in(descriptor, ++generation_);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &interest) == 0) {
    polled_[descriptor] = {generation_};
    return {};
  }
  if (errno == EEXIST) return fail(Code::kAlreadyExists, "it is polled already");
  const bool unfit = errno == EBADF || errno == EPERM || errno == EINVAL || errno == ELOOP;
  Error error = fail_errno(errno, "epoll cannot wait for it").error();
  if (unfit) error.code = Code::kInvalidArgument;
  return std::unexpected(std::move(error));
}

Status DescriptorPoll::remove(std::int32_t descriptor) {
  const std::lock_guard lock(mutex_);
  if (polled_.erase(descriptor) == 0) return fail(Code::kNotFound, "it is not polled");
  // Fails if the module has closed it already, which removes it, too.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  return {};
}

bool DescriptorPoll::is_ready(std::int32_t descriptor) {
  const std::lock_guard lock(mutex_);
  const auto found = polled_.find(descriptor);
  return found != polled_.end() && found->second.ready;
}

void DescriptorPoll::rearm(std::int32_t descriptor) {
  const std::lock_guard lock(mutex_);
  const auto found = polled_.find(descriptor);
  if (found == polled_.end() || !found->second.ready) return;
  found->second.ready = false;
  epoll_event interest = interest_in(descriptor, found->second.generation);
  // The module has closed it without remove().
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &interest) != 0) polled_.erase(found);
}

void DescriptorPoll::close() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    polled_.clear();
    thread = std::move(thread_);
    if (!thread.joinable()) return;
    closing_ = true;
    ::eventfd_write(end_.get(), 1);
  }
  thread.join();
  const std::lock_guard lock(mutex_);
  closing_ = false;
  epoll_ = UniqueFd();
  end_ = UniqueFd();
}

void DescriptorPoll::wait(int epoll) {
  std::array<epoll_event, 16> happened;
  for (;;) {
    const int count = ::epoll_wait(epoll, happened.data(), static_cast<int>(happened.size()), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t key = happened[static_cast<std::size_t>(i)].data.u64;
      if (key >> 32 == 0) return;
      if (note(key)) ready_(static_cast<std::int32_t>(key & 0xffffffff));
    }
  }
}

bool DescriptorPoll::note(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = polled_.find(static_cast<std::int32_t>(key & 0xffffffff));
  if (found == polled_.end() || found->second.generation != key >> 32) return false;
  found->second.ready = true;
  return true;
}

}  // namespace cardcage
