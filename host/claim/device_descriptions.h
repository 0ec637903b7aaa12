// Turns what modules state of a claim's devices into what the claim's record keeps of it.
#pragma once

#include <filesystem>
#include <map>

#include "host/claim/device_directory.h"
#include "host/ledger/record.h"

namespace cardcage {

// By device of a record that does not change meanwhile.
using DeviceDescriptions = std::map<const HeldDevice*, Attributes>;

// Takes the statements about the devices of the part, by index; missing ones say nothing. Conditions whose status has
// not changed keep their times.
void adopt_statements(std::vector<DeviceStatement> statements, WallTime now, ModulePart& part,
                      DeviceDescriptions& described);

// What a later prepare of the same devices begins with: the statuses, whose times go on, and the files.
void inherit_statements(const ModulePart& before, ModulePart& part);

// Plans a file in `folder` for each request with a described device. The attributes of such a device are those that its
// module and the host report, and those of its description, which win. `earlier` are files of the same claim, whose
// generations go on. kInvalidArgument for more attributes than a device may have.
Status plan_metadata(ClaimRecord& record, const DeviceDescriptions& described, const DeviceDirectory& devices,
                     const std::filesystem::path& folder, const std::vector<MetadataFile>& earlier);
std::vector<MetadataFile> metadata_files(const ClaimRecord& record);

}  // namespace cardcage
