// Coordinates two daemons in an upgrade: the next one registers its drivers with the kubelet before the previous one
// exits.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "host/core/clock.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// The waiting daemon holds the lock of a file. The exiting daemon writes there that it is about to exit, and continues
// until it reads that the next one has registered.
class HandOver {
 public:
  explicit HandOver(std::filesystem::path file) : file_(std::move(file)) {}

  // Called by the waiting daemon. Without the lock, which another daemon may have, asked() stays false.
  void wait();
  bool asked() const;
  void say_registered();
  void end();

  // Called by the exiting daemon. Returns once the next one has registered and the kubelet has had time to connect to
  // it, or at `deadline`; at once if no daemon waits.
  Task<void> give(asio::io_context& core, Clock& clock, Instant deadline);

 private:
  std::string said() const;
  void say(const UniqueFd& file, std::string_view word) const;

  const std::filesystem::path file_;
  UniqueFd lock_;
};

}  // namespace cardcage
