#include "ctl/claim_holders.h"

#include <fmt/ranges.h>

#include "ctl/print.h"

namespace cardcage {

std::vector<ClaimHolder> holders_of(const admin::v1::Claim& claim) {
  if (claim.holders().empty()) return {{to_text(claim.ref()), claim.ref().uid(), claim.prepared()}};
  std::vector<ClaimHolder> holders;
  for (const auto& holder : claim.holders()) {
    std::string name = holder.pod().empty() ? "" : fmt::format("{}/{}", holder.namespace_(), holder.pod());
    holders.push_back({std::move(name), holder.id(), holder.since()});
  }
  return holders;
}

std::string device_names(const admin::v1::Claim& claim) {
  std::vector<std::string> names;
  for (const auto& device : claim.devices()) names.push_back(device.device());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace cardcage
