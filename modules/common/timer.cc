#include "modules/common/timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cardcage::hardware {

// Of a module whose start() failed, which is not stopped.
Timer::~Timer() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Timer::start(std::chrono::nanoseconds interval) {
  descriptor_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(interval);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (interval - seconds).count()};
  const itimerspec every{.it_interval = time, .it_value = time};
  if (descriptor_ < 0 || ::timerfd_settime(descriptor_, 0, &every, nullptr) != 0)
    throw cage::Error(CAGE_RESOURCE_EXHAUSTED,
                      "cannot make a timer for the health of devices: " + std::string(std::strerror(errno)));
  host_.poll(descriptor_);
}

void Timer::stop() {
  if (descriptor_ < 0) return;
  host_.stop_polling(descriptor_);
  ::close(std::exchange(descriptor_, -1));
}

bool Timer::take(const cage::Event& event) const {
  if (event.type != cage::Event::Type::descriptor || event.descriptor != descriptor_) return false;
  std::uint64_t expirations = 0;
  return ::read(descriptor_, &expirations, sizeof expirations) > 0;
}

}  // namespace cardcage::hardware
