// What a container gets for the devices that were prepared for it, in the words of the device-plugin API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/claim/allocation_service.h"
#include "host/config/config.h"
#include "host/ledger/record.h"

namespace cardcage {

// `held` are devices of one resource. kFailedPrecondition where the way of delivery cannot carry what a module gave.
Result<ContainerGrant> container_grant(const std::string& resource, Delivery delivery,
                                       const std::vector<std::shared_ptr<const ClaimRecord>>& held);

}  // namespace cardcage
