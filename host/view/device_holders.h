// The claims that keep a device from others, for messages.
#pragma once

#include <string>

#include "host/ledger/ledger.h"
#include "host/serving/device_table.h"

namespace cardcage {

// Names the claims that hold the device or one of its partitions; empty if none does.
std::string holder_names(const DeviceTable& table, const Ledger& ledger, const Supervisor& supervisor,
                         const Device& device);
// Names the claim with another device that had the name of this one; empty if none does.
std::string why_replaced(const DeviceTable& table, const Ledger& ledger, const std::string& module,
                         const Device& device);

}  // namespace cardcage
