#include "modules/common/timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cardcage::hardware {

// A module may be destroyed without a stop().
Timer::~Timer() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Timer::start(std::chrono::nanoseconds interval) {
  const int descriptor = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(interval);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (interval - seconds).count()};
  const itimerspec every{.it_interval = time, .it_value = time};
  try {
    if (descriptor < 0 || ::timerfd_settime(descriptor, 0, &every, nullptr) != 0)
      throw cage::Error(CAGE_RESOURCE_EXHAUSTED,
                        "cannot make a timer for the health of devices: " + std::string(std::strerror(errno)));
    host_.poll(descriptor);
  } catch (...) {
    if (descriptor >= 0) ::close(descriptor);
    throw;
  }
  descriptor_ = descriptor;
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
