#include "host/module/call_place.h"

namespace cardcage {

CallPlace::CallPlace(const ModuleCall& call) {
  if (const ModuleClaim* const claim = claim_of(call)) {
    kind_ = Kind::kClaim;
    claim_ = claim->ref.uid;
  } else if (std::holds_alternative<DiscoverCall>(call) || std::holds_alternative<ChooseCall>(call) ||
             std::holds_alternative<CheckCall>(call) || std::holds_alternative<CollectMetricsCall>(call) ||
             std::holds_alternative<CollectLabelsCall>(call) || std::holds_alternative<CollectCatalogueCall>(call) ||
             std::holds_alternative<EventsCall>(call)) {
    kind_ = Kind::kLooks;
  }
}

bool CallPlace::overlaps(const CallPlace& other) const {
  if (kind_ == Kind::kAlone || other.kind_ == Kind::kAlone) return false;
  if (kind_ == Kind::kClaim && other.kind_ == Kind::kClaim) return claim_ != other.claim_;
  return kind_ != other.kind_;
}

}  // namespace cardcage
