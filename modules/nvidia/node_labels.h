// Labels of the node, as NVIDIA's GPU feature discovery writes them.
#pragma once

#include <cardcage/sdk.hpp>
#include <chrono>

#include "modules/nvidia/resource_labels.h"

namespace cardcage::nvidia {

// `since` is when the module began to label the node.
void report_labels(const Inventory& inventory, const Node& node, const LabelPolicy& policy,
                   std::chrono::system_clock::time_point since, cage::Labels& labels);

}  // namespace cardcage::nvidia
