// Prepare and unprepare as a kubelet calls them, with its checks of the answer.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "host/claim/claim_service.h"
#include "host/kubelet/clients.h"

namespace cardcage {

// Per claim UID.
using PrepareAnswers = std::map<std::string, Result<std::vector<PreparedDevice>>>;
using UnprepareAnswers = std::map<std::string, Status>;

// `version` is "v1.DRAPlugin" or "v1beta1.DRAPlugin". The error is the RPC's, or what the kubelet says of an answer
// that skips claims or names others.
Result<PrepareAnswers> call_prepare(const DriverClients& clients, const std::string& version,
                                    const std::vector<ClaimRef>& claims, std::chrono::milliseconds limit);
Result<UnprepareAnswers> call_unprepare(const DriverClients& clients, const std::string& version,
                                        const std::vector<ClaimRef>& claims, std::chrono::milliseconds limit);

}  // namespace cardcage
