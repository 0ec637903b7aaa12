// Labels of the node, named as NVIDIA's GPU feature discovery names them.
#pragma once

#include <cardcage/sdk.hpp>

#include "modules/nvidia/inventory.h"

namespace cardcage::nvidia {

void report_labels(const Inventory& inventory, const Node& node, cage::Labels& labels);

}  // namespace cardcage::nvidia
