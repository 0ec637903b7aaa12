// Tells whether cardcage-fleet labels the claims that wait for devices of the node.
// See docs/decisions/0049-the-fleet-labels-claims-for-daemons.md.
#pragma once

#include <functional>
#include <string>

#include "host/core/shared_call.h"

namespace cardcage {

struct ClaimLabelling {
  std::string name_space, lease;  // the Lease that cardcage-fleet renews while all claims have their labels
  std::string node;
};

// [core] Reads the Lease every two minutes. A Lease that has not changed since the last read is not renewed any
// more; clocks of other machines do not matter. Must outlive its calls.
class LabelledClaims {
 public:
  // Reads when the Lease was renewed; empty = never.
  using Read = std::function<Task<Result<std::string>>()>;

  LabelledClaims(asio::io_context& core, Clock& clock, Read read);

  // Whether the labels are complete.
  Task<bool> complete();
  // Returns when complete() is no longer `was`.
  Task<void> wait_for_change(bool was);

 private:
  Task<Result<bool>> read_lease();

  Clock& clock_;
  const Read read_;
  SharedCall<bool> lease_;
  std::string renewed_;  // at the last read
  bool missed_ = false;  // the last read failed
  int doubts_ = 0;
  bool complete_ = false;
};

}  // namespace cardcage
