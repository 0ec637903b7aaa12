// Finds devices of a claim whose names have become those of other devices.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "host/ledger/record.h"

namespace cardcage {

// A device that a claim has, and the one that a new plan finds under its name.
struct Replaced {
  const HeldDevice *before, *now;
};

// The first one; nothing if all names mean the devices that they meant before. The devices live in the arguments.
std::optional<Replaced> find_replaced(std::span<const ModulePart> before, std::span<const ModulePart> plan);
// For people: "it has device 'ID-B', and ...".
std::string to_string(const Replaced& replaced);

}  // namespace cardcage
