// Turns prepared devices into the device-plugin API's response for a container.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/claim/allocation_service.h"
#include "host/config/config.h"
#include "host/ledger/record.h"

namespace cardcage {

// `held` are devices of one resource. kFailedPrecondition if the delivery cannot carry the edits of a module, or if one
// container cannot have the edits of all the devices.
Result<ContainerGrant> container_grant(const std::string& resource, Delivery delivery,
                                       const std::vector<std::shared_ptr<const ClaimRecord>>& held);

}  // namespace cardcage
