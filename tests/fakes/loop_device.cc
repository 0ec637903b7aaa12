#include "tests/fakes/loop_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

namespace cardcage {

LoopDevice::LoopDevice(const std::filesystem::path& file) {
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC)),
      backing(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  const int number = control ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
  path_ = fmt::format("/dev/loop{}", number);
  UniqueFd device(number < 0 ? -1 : ::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  loop_config wanted{};
  wanted.fd = static_cast<__u32>(backing.get());
  wanted.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  if (device && ::ioctl(device.get(), LOOP_CONFIGURE, &wanted) == 0) device_ = std::move(device);
}

}  // namespace cardcage
