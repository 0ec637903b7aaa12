// NodePrepareResources and NodeUnprepareResources with the checks of the response that kubelet 1.36 makes.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "host/claim/claim_service.h"
#include "host/kubelet/clients.h"

namespace cardcage {

// By claim UID.
using PrepareAnswers = std::map<std::string, Result<std::vector<PreparedDevice>>>;
using UnprepareAnswers = std::map<std::string, Status>;

// `version` is "v1.DRAPlugin" or "v1beta1.DRAPlugin". The error is the RPC's, or the kubelet's own if the response
// lacks claims or names others.
Result<PrepareAnswers> call_prepare(const DriverClients& clients, const std::string& version,
                                    const std::vector<ClaimRef>& claims, std::chrono::milliseconds limit);
Result<UnprepareAnswers> call_unprepare(const DriverClients& clients, const std::string& version,
                                        const std::vector<ClaimRef>& claims, std::chrono::milliseconds limit);

}  // namespace cardcage
