// The kubelet's own record of the claims that it has prepared: <kubelet root>/dra_manager_state.
//
// It is an internal format (pkg/kubelet/cm/dra/state/checkpoint.go): anything unexpected in it means "unknown".
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

constexpr std::string_view kClaimCheckpoint = "dra_manager_state";

// Reads {"Data": "{\"kind\": \"DRACheckpoint\", \"ClaimInfoStateList\": [{\"ClaimUID\"}]}", "Checksum": CRC-32 of
// Data}. Returns the UIDs. kDataLoss if the text is incomplete or of another form.
Result<std::set<std::string>> parse_claim_checkpoint(std::string_view text);

// No UIDs if the kubelet's folder has no such file: the kubelet has prepared nothing, or its state was removed. An
// error if the folder is not a kubelet's, which the missing file says nothing about.
Result<std::set<std::string>> read_claim_checkpoint(const std::filesystem::path& kubelet_root);

}  // namespace cardcage
