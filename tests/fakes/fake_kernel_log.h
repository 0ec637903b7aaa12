// A pipe in packet mode that behaves like /dev/kmsg: each read returns one record.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "host/core/unique_fd.h"

namespace cardcage {

class FakeKernelLog {
 public:
  FakeKernelLog() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_DIRECT | O_NONBLOCK) != 0) throw std::runtime_error("no pipe in packet mode");
    ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // a packet takes a page
    reader_ = UniqueFd(ends[0]);
    writer_ = UniqueFd(ends[1]);
  }
  // A path that opens the pipe once more.
  std::filesystem::path place() const { return "/proc/self/fd/" + std::to_string(reader_.get()); }
  void write(std::string_view record) const {
    EXPECT_EQ(::write(writer_.get(), record.data(), record.size()), static_cast<ssize_t>(record.size()));
  }
  void say(const std::string& message) const { write("6,1,1000000,-;" + message + "\n"); }
  // Readers find the end of the file.
  void end() { writer_ = UniqueFd(); }

 private:
  UniqueFd reader_, writer_;
};

}  // namespace cardcage
