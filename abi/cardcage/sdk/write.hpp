// SPDX-License-Identifier: Apache-2.0
// Writes to the hardware that may block forever. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_WRITE_HPP_
#define CARDCAGE_SDK_WRITE_HPP_

#include <cardcage/sdk/text.hpp>

#include <chrono>

namespace cage {

// One write to a file of sysfs or procfs. The key `writes` of the module's configuration must match the path, here and
// below.
struct FileWrite {
  std::string device;                  // the device that the hardware belongs to
  std::string path;                    // "/sys/bus/pci/devices/0000:3b:00.0/reset"
  std::string data;                    // at most 4096 bytes
  std::chrono::milliseconds limit{0};  // 0 = until the deadline of the call

  // Valid while this lives.
  cage_file_write raw() const& {
    cage_file_write raw{};
    raw.struct_size = sizeof raw;
    raw.timeout_ms = static_cast<std::uint32_t>(limit.count());
    raw.device_id = detail::raw(device);
    raw.path = detail::raw(path);
    raw.data = {data.data(), data.size()};
    return raw;
  }
  cage_file_write raw() && = delete;
};

// One ioctl of a device node.
struct Ioctl {
  std::string device;  // the device that the hardware belongs to
  std::string path;    // "/dev/xclmgmt256"
  std::uint64_t request = 0;
  std::string data_path;          // a file to map, such as a bitstream; empty = none
  std::uint32_t data_offset = 0;  // where in the argument the address of its bytes goes
  std::chrono::milliseconds limit{0};
  std::string data_sha256;       // hash of the whole file, as sha256sum prints it; empty = not checked
  std::uint64_t data_start = 0;  // the address is that of this byte of the file
  bool exclusive = false;        // fails with CAGE_FAILED_PRECONDITION if another process has a DFL node open

  // Valid while this and the argument live.
  cage_ioctl raw(void* argument, std::size_t size) const& {
    cage_ioctl raw{};
    raw.struct_size = sizeof raw;
    raw.timeout_ms = static_cast<std::uint32_t>(limit.count());
    raw.device_id = detail::raw(device);
    raw.path = detail::raw(path);
    raw.request = request;
    raw.argument = argument;
    raw.argument_size = static_cast<std::uint32_t>(size);
    raw.data_offset = data_offset;
    raw.data_path = detail::raw(data_path);
    raw.data_sha256 = detail::raw(data_sha256);
    raw.data_start = data_start;
    raw.flags = exclusive ? CAGE_IOCTL_EXCLUSIVE : 0;
    return raw;
  }
  cage_ioctl raw(void* argument, std::size_t size) && = delete;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_WRITE_HPP_
