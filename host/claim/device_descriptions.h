// Turns a module's statements about a claim's devices into parts of the claim's record.
#pragma once

#include <filesystem>
#include <map>

#include "host/claim/device_directory.h"
#include "host/ledger/record.h"

namespace cardcage {

// Keyed by device of a record that does not change meanwhile.
using DeviceDescriptions = std::map<const HeldDevice*, Attributes>;

// Takes the statements about the devices of the part, by index; missing ones say nothing. Conditions whose status has
// not changed keep their times.
void adopt_statements(std::vector<DeviceStatement> statements, WallTime now, ModulePart& part,
                      DeviceDescriptions& described);

// Copies the start values for a later prepare of the same devices: the statuses, which keep their times.
void inherit_statements(const ModulePart& before, ModulePart& part);

// Plans a file in `folder` for each request with a described device. The attributes of such a device are those that its
// module and the host report, and those of its description, which win. The files replace earlier ones of the record,
// whose generations continue. kInvalidArgument for more attributes than a device may have.
Status plan_metadata(ClaimRecord& record, const DeviceDescriptions& described, const DeviceDirectory& devices,
                     const std::filesystem::path& folder);

}  // namespace cardcage
