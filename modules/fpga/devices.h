// The devices that the module reports.
#pragma once

#include "modules/fpga/bitstream/catalogue.h"
#include "modules/fpga/fences.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Reports every bitstream of the catalogue with its fault.
void report_catalogue(const Catalogue& from, cage::Catalogue& to);

// Judges the cause Region: whether the device can be used as it is.
cage::Health region_health(const Target& target, const Fences& fences, const IsChanging& is_changing);

void report_devices(const Targets& targets, const Fences& fences, const IsChanging& is_changing,
                    cage::Snapshot& snapshot);

}  // namespace cardcage::fpga
