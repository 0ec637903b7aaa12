// Reads ResourceClaims from a file, as `kubectl get resourceclaim -o json` writes them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/result.h"
#include "host/model/claim.h"

namespace cardcage {

struct FileClaim {
  ClaimRef ref;
  std::vector<std::string> drivers;  // drivers of its allocation, each once; empty if it is not allocated
};

// Parses one ResourceClaim, or a list of them.
Result<std::vector<FileClaim>> parse_claims(std::string_view text);
// The file "-" is stdin.
Result<std::vector<FileClaim>> read_claims(const std::filesystem::path& file);

}  // namespace cardcage
