// A block device over a file: one of the few devices whose drivers support O_EXCL.
#pragma once

#include <filesystem>
#include <string>

#include "host/core/unique_fd.h"

namespace cardcage {

class LoopDevice {
 public:
  // The kernel detaches the device when its last descriptor is closed.
  explicit LoopDevice(const std::filesystem::path& file);

  // False if there is no free loop device.
  explicit operator bool() const { return static_cast<bool>(device_); }
  const std::string& path() const { return path_; }  // "/dev/loop3"

 private:
  std::string path_;
  UniqueFd device_;
};

}  // namespace cardcage
