// The health of a driver's devices as the host sees it, for everybody who passes it on.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/device/device.h"

namespace cardcage {

struct HealthReport {
  std::string pool, device;
  Health health;
  std::chrono::system_clock::time_point changed;
  friend bool operator==(const HealthReport&, const HealthReport&) = default;
};
// Every device of a driver, immutable.
using HealthList = std::vector<HealthReport>;
using HealthListPtr = std::shared_ptr<const HealthList>;

// [core] One per driver name. Full lists, the latest wins.
class HealthBoard {
 public:
  using Listener = std::function<void(const HealthListPtr&)>;

  // A list equal to the current one is no news.
  void set(HealthList list);
  // Never null; empty at first.
  const HealthListPtr& current() const { return current_; }
  // The listener hears of every new list until the returned token is gone.
  [[nodiscard]] std::shared_ptr<const Listener> subscribe(Listener listener);

 private:
  HealthListPtr current_ = std::make_shared<const HealthList>();
  std::vector<std::weak_ptr<const Listener>> listeners_;
};

}  // namespace cardcage
