#include "modules/nic/polling.h"

#include <thread>

namespace cardcage::nic {
namespace {

constexpr std::chrono::milliseconds kPollInterval{20};

}  // namespace

bool becomes_true(const cage::Call& call, std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    call.checkpoint();
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

}  // namespace cardcage::nic
