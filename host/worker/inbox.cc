#include "host/worker/inbox.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "host/worker/exit.h"

namespace cardcage {
namespace {

// Time that a job runs before the main thread reads in its place. Most calls end long before.
constexpr long kLongJobNs = 10'000'000;

}  // namespace

Inbox::Inbox(int socket)
    : socket_(socket),
      alarm_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)),
      call_back_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!alarm_ || !call_back_) exit_with_errno("no descriptor is left");
}

wire::Request Inbox::next() {
  std::optional<wire::Request> first;
  taker_ = [&](wire::Request request, const Descriptors&) { first = std::move(request); };
  while (!take_one()) receive();
  return std::move(*first);
}

void Inbox::post(Job job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
}

void Inbox::attend(const std::function<bool()>& arrived) {
  if (std::this_thread::get_id() != module_thread_) return;
  const std::unique_lock reading(reading_, std::try_to_lock);
  if (!reading) return;
  while (!arrived())
    if (!take_one()) receive();
  set_alarm();  // for the remaining time of the job
}

void Inbox::set_alarm() const {
  constexpr itimerspec kLongJob{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = kLongJobNs}};
  ::timerfd_settime(alarm_.get(), 0, &kLongJob, nullptr);
}

void Inbox::work() {
  module_thread_ = std::this_thread::get_id();
  for (;;) {
    run_jobs();
    std::unique_lock reading(reading_, std::try_to_lock);
    if (!reading) {
      const std::uint64_t one = 1;
      if (::write(call_back_.get(), &one, sizeof one) < 0) exit_with_errno("cannot read again");
      reading.lock();
    }
    while (jobs_.empty() && !take_one()) receive();
  }
}

void Inbox::run_jobs() {
  std::unique_lock lock(mutex_);
  busy_ = true;
  while (!jobs_.empty()) {
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    set_alarm();
    job();
    job = nullptr;
    lock.lock();
  }
  busy_ = false;
}

void Inbox::stand_in() {
  for (;;) {
    wait_for_alarm();
    // If the lock is taken, the module's thread reads, and it sets the alarm again before its next job.
    const std::unique_lock reading(reading_, std::try_to_lock);
    while (reading && busy_) {
      while (take_one()) {
      }
      if (wait_for_message()) receive();
    }
  }
}

void Inbox::wait_for_alarm() const {
  std::uint64_t times = 0;
  while (::read(alarm_.get(), &times, sizeof times) < 0)
    if (errno != EINTR) exit_with_errno("cannot wait");
}

// Returns false if the module's thread wants to read again, or if poll was interrupted.
bool Inbox::wait_for_message() const {
  std::array<pollfd, 2> ready{{{socket_, POLLIN, 0}, {call_back_.get(), POLLIN, 0}}};
  if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) exit_with_errno("cannot wait");
  std::uint64_t times = 0;
  return ::read(call_back_.get(), &times, sizeof times) < 0 && ready[0].revents != 0;
}

void Inbox::receive() {
  // Polls first: a blocking read would wake up whenever the daemon has read our data.
  pollfd ready{socket_, POLLIN, 0};
  if (::poll(&ready, 1, -1) < 0) {
    if (errno == EINTR) return;
    exit_with_errno("cannot wait");
  }
  std::array<char, 64u << 10> piece;
  const ssize_t size = receive_with(socket_, piece, descriptors_);
  if (size < 0 && errno == EINTR) return;
  if (size < 0 && errno == EMFILE) exit_with_errno("descriptors of a pod are lost");
  if (size < 0 && errno == EBADF) exit_with_errno("cannot read");
  if (size <= 0) ::_exit(EXIT_SUCCESS);
  frames_.append({piece.data(), static_cast<std::size_t>(size)});
}

bool Inbox::take_one() {
  wire::Request request;
  const auto complete = frames_.next(request);
  if (!complete) {
    std::fprintf(stderr, "cardcage-worker: %s\n", complete.error().message.c_str());
    ::_exit(EXIT_FAILURE);
  }
  if (!*complete) return false;
  Descriptors descriptors;
  while (descriptors.size() < request.descriptors() && !descriptors_.empty()) {
    descriptors.push_back(std::move(descriptors_.front()));
    descriptors_.pop_front();
  }
  taker_(std::move(request), std::move(descriptors));
  return true;
}

}  // namespace cardcage
