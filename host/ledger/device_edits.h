// Collects the edits of recorded devices, to combine them.
#pragma once

#include <vector>

#include "host/ledger/record.h"
#include "host/model/combined_edits.h"

namespace cardcage {

// The edits of all devices of the record, into which they point.
std::vector<DeviceEdits> device_edits(const ClaimRecord& record);

}  // namespace cardcage
