// Waits for conditions that no event announces to a call.
#pragma once

#include <cardcage/sdk.hpp>
#include <chrono>
#include <functional>

namespace cardcage::nic {

// Checks `condition` again and again; returns false if it is not true within `limit`. Throws cage::Error if the call is
// cancelled.
bool becomes_true(const cage::Call& call, std::chrono::milliseconds limit, const std::function<bool()>& condition);

}  // namespace cardcage::nic
