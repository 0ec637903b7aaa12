// Formats the health of a device.
#pragma once

#include <string>

#include "cardcage/admin.pb.h"

namespace cardcage {

// `health` is a Health or a Cause.
template <class Message>
bool is_healthy(const Message& health) {
  return health.state() == "healthy";
}

// Returns "unhealthy (XidError), cordoned".
std::string health_text(const admin::v1::Device& device);
// Returns "by alice since 2027-01-15T08:00:00Z: loose cable"; "" unless the device is cordoned.
std::string cordon_text(const admin::v1::Device& device);
// Returns "91.5 Cel"; omits the unit of a plain number, "1".
std::string value_text(double value, const std::string& unit);
// Returns "Ecc unhealthy (RowRemap) since 2027-01-15T08:00:00Z, value 3, quarantined, taint NoSchedule: bank 3".
std::string cause_text(const admin::v1::Cause& cause, const std::string& unit = "");
// Returns "NoSchedule", or "example.com/ecc=Dbe:NoExecute" if the key was chosen.
std::string taint_text(const std::string& key, const std::string& value, const std::string& effect);

}  // namespace cardcage
