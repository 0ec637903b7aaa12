// How two daemons of an upgrade agree when the next one registers its drivers with the kubelet.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "host/core/clock.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// The daemon that waits for another one to exit holds the lock of a file. The other one writes there that it is about
// to exit, and goes on until it reads that the next one has registered.
class HandOver {
 public:
  explicit HandOver(std::filesystem::path file) : file_(std::move(file)) {}

  // The daemon that waits. Without the lock, which another one may have, it is never asked.
  void wait();
  bool asked() const;
  void say_registered();
  void end();

  // The daemon that exits. Returns once the next one has registered and the kubelet has had time to connect to it,
  // or at `deadline`; at once if none waits.
  Task<void> give(asio::io_context& core, Clock& clock, Instant deadline);

 private:
  std::string said() const;
  void say(const UniqueFd& file, std::string_view word) const;

  const std::filesystem::path file_;
  UniqueFd lock_;
};

}  // namespace cardcage
