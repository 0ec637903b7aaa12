// Who held which device, from when to when: a row per device of every claim that was released, and per pod that a
// device was handed out to.
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

// What a holder of a device leaves behind: the pod stands for the claim and its container for the request.
HistoryEntry history_entry(const ClaimRecord& record, const ModulePart& part, const HeldDevice& device,
                           const Holder& holder, WallTime released);
// What a claim leaves behind, or all holders of a device. Nothing if it was never prepared: it held nothing for
// certain.
std::vector<HistoryEntry> history_of(const ClaimRecord& record, WallTime released);

// Empty members match everything. Newest first.
struct HistoryQuery {
  std::string claim;  // a UID, "namespace/name" or a name
  std::string driver, device;
  WallTime since{};  // released then or later
  std::int64_t limit = 100;
};

// What the ledger keeps; whatever is beyond either bound goes.
struct HistoryBounds {
  std::int64_t rows = 10'000;
  std::chrono::hours age{90 * 24};
};

}  // namespace cardcage
