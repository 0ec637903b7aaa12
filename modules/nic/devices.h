// The devices that the module reports.
#pragma once

#include <cardcage/sdk.hpp>

#include "modules/common/passthrough.h"
#include "modules/nic/nic.h"

namespace cardcage::nic {

void report_devices(const Inventory& inventory, const hardware::Node& node, const hardware::Passthrough& passthrough,
                    cage::Snapshot& snapshot);

}  // namespace cardcage::nic
