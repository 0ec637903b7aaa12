// The holders of devices, with the times of begin and end: one row per device of every released claim, and per pod that
// a device of a resource was handed out to.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "host/ledger/record.h"

namespace cardcage {

struct HistoryEntry {
  std::string driver;
  ClaimRef ref;
  std::string module, pool, device, request, share_id;
  WallTime prepared, released;
  std::chrono::milliseconds held() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(released - prepared);
  }
  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

// The row of a holder: its pod stands for the claim, its container for the request.
HistoryEntry history_entry(const ClaimRecord& record, const ModulePart& part, const HeldDevice& device,
                           const Holder& holder, WallTime released);
// The rows of a claim, or of all holders of its device. Empty if it was never prepared, because it may have held
// nothing.
std::vector<HistoryEntry> history_of(const ClaimRecord& record, WallTime released);

// Empty members match everything. Newest first.
struct HistoryQuery {
  std::string claim;  // a UID, "namespace/name" or a name
  std::string driver, device;
  WallTime since{};  // released then or later
  std::int64_t limit = 100;
};

// The ledger deletes rows beyond either bound.
struct HistoryBounds {
  std::int64_t rows = 10'000;
  std::chrono::hours age{90 * 24};
};

}  // namespace cardcage
