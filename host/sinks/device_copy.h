// Copies of the devices that a module reports, checked against every rule of the ResourceSlice API (KEP-4381).
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "cardcage/module.h"
#include "host/model/attribute_limits.h"

namespace cardcage {

// The host adds these to a device with a PCI address: pciBusID, pcieRoot, numaNode.
constexpr std::size_t kDerivedAttributes = 3;

// The attributes of a device or of a catalogue entry.
Result<Attributes> copy_attributes(const cage_attr* given, std::uint32_t count);

// Errors name the member and, if there is one, the remedy; the caller adds the device.
Result<Device> copy_device(const cage_device& given);

// The device id, which may be empty, and the health. The message is repaired and cut, never refused.
Result<std::pair<std::string, Health>> copy_health(const cage_health& given);

Result<Quantity> copy_quantity(const cage_quantity& given);
// Errors name the amount. Only a comparison with the capacity shows whether the amounts fit together.
Result<RequestPolicy> copy_request_policy(const cage_request_policy& given);
// flaw_of() judges whether the types of conditions suit each other.
Result<Binding> copy_binding(const cage_binding& given);
// Keyed by name. Names must satisfy `rule`, and messages call an item `what`.
Result<std::map<std::string, Quantity>> copy_quantities(std::span<const cage_quantity> given,
                                                        bool (*rule)(std::string_view), std::string_view what,
                                                        std::string_view expected_name);

}  // namespace cardcage
