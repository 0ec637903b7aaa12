// Served cards, and the system calls that tests make on them.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/fpga-dfl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "tests/fakes/eventually.h"
#include "tests/fakes/fpga/fake_fpgas.h"

namespace cardcage {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

inline constexpr const char* kCard = "0000:5e:00.0";
inline constexpr const char* kOther = "0000:3b:00.0";

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

class FakeFpgaKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fpgas.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  }
  void TearDown() override { fpgas.release(); }
  int program(unsigned port, const std::string& data, const char* card = kCard) {
    return program_at(fpgas.fme_node(card), port, data);
  }
  static int program_at(const fs::path& node, unsigned port, const std::string& data) {
    const UniqueFd fme = open_node(node);
    if (!fme) return errno;
    dfl_fpga_fme_port_pr pr{.argsz = sizeof pr, .port_id = port};
    pr.buffer_size = static_cast<std::uint32_t>(data.size());
    pr.buffer_address = reinterpret_cast<std::uint64_t>(data.data());
    return call_with(fme, DFL_FPGA_FME_PORT_PR, pr);
  }
  fs::path port(const std::string& file, unsigned id = 0) { return fpgas.port_folder(kCard, id) / file; }
  fs::path fme(const std::string& file) { return fpgas.fme_folder(kCard) / file; }
  fs::path manager() { return fs::canonical(fme("dfl-fme-mgr.0/fpga_manager/fpga0")); }

  FakeFpgas fpgas{{fake_fpga::four_ports(kCard), fake_fpga::n3000(kOther), fake_fpga::n6001(), fake_fpga::kria()}};
  const std::string payload = fake_payload(fake_fpga::kNlb3);
};

}  // namespace cardcage
