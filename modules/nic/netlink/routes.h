// Routes of the network namespace of this thread.
#pragma once

#include <cstdint>
#include <set>

namespace cardcage::nic {

// The indexes of the interfaces with a default route, in any table and of IPv4 or IPv6. Throws std::system_error.
std::set<std::uint64_t> interfaces_with_default_routes();

}  // namespace cardcage::nic
