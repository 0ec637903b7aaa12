// Makes system calls on the files of cards. Each function returns the errno, or 0.
#pragma once

#include <fcntl.h>
#include <linux/fpga-dfl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

#include "host/core/unique_fd.h"

namespace cardcage {

namespace fs = std::filesystem;

// The text of a file, or the errno of the call that failed.
struct Text {
  std::string text;
  int error = 0;
  bool operator==(const Text&) const = default;
  friend void PrintTo(const Text& value, std::ostream* stream) {
    *stream << '"' << value.text << "\", errno " << value.error;
  }
};
inline Text read_file(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {"", errno};
  std::string text(4096, '\0');
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return {"", errno};
  text.resize(static_cast<std::size_t>(size));
  return {text, 0};
}
inline int write_file(const fs::path& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno;
  return ::write(fd.get(), text.data(), text.size()) < 0 ? errno : 0;
}
inline UniqueFd open_node(const fs::path& path, int flags = 0) {
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags));
}
inline int call(const UniqueFd& fd, unsigned long command, unsigned long argument = 0) {
  return ::ioctl(fd.get(), command, argument) < 0 ? errno : 0;
}
template <class T>
int call_with(const UniqueFd& fd, unsigned long command, T& argument) {
  return ::ioctl(fd.get(), command, &argument) < 0 ? errno : 0;
}

inline int program_at(const fs::path& node, unsigned port, const std::string& data) {
  const UniqueFd fme = open_node(node);
  if (!fme) return errno;
  dfl_fpga_fme_port_pr pr{.argsz = sizeof pr, .port_id = port};
  pr.buffer_size = static_cast<std::uint32_t>(data.size());
  pr.buffer_address = reinterpret_cast<std::uint64_t>(data.data());
  return call_with(fme, DFL_FPGA_FME_PORT_PR, pr);
}

}  // namespace cardcage
