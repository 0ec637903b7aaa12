// Finds devices of a claim whose names have become those of other devices.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "host/ledger/record.h"

namespace cardcage {

// Names, for people, the first device whose name now is that of another device in the plan: "it has device 'ID-B',
// ...". Nothing if all names mean the devices that they meant before.
std::optional<std::string> find_replaced(std::span<const ModulePart> before, std::span<const ModulePart> plan);

}  // namespace cardcage
