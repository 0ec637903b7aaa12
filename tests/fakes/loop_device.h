// A block device over a file: one of the few devices whose drivers know O_EXCL.
#pragma once

#include <filesystem>
#include <string>

#include "host/core/unique_fd.h"

namespace cardcage {

class LoopDevice {
 public:
  // The kernel detaches the device when nobody has it open any more.
  explicit LoopDevice(const std::filesystem::path& file);

  // False where no loop device can be had.
  explicit operator bool() const { return static_cast<bool>(device_); }
  const std::string& path() const { return path_; }  // "/dev/loop3"

 private:
  std::string path_;
  UniqueFd device_;
};

}  // namespace cardcage
