#include "host/dra/health_board.h"

#include <utility>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

std::string text_of(const Health& health) {
  if (health.state == HealthState::kUnmonitored && health.message.empty()) return "not monitored";
  if (health.reason.empty() || health.message.empty()) return health.reason + health.message;
  return health.reason + ": " + health.message;
}

}  // namespace

HealthReport health_report(std::string pool, std::string device, const DeviceHealth& health) {
  // The kubelet keeps this many bytes, and would cut a character in two.
  return {.pool = std::move(pool),
          .device = std::move(device),
          .told = told_to_kubelet(health),
          .message = std::string(cut_utf8(text_of(health.health), kMaxHealthMessage)),
          .changed = health.changed};
}

}  // namespace cardcage
