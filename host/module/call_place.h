// Which calls of a concurrent module may run at the same time [R8].
#pragma once

#include <string>

#include "host/model/module_call.h"

namespace cardcage {

// Calls for different claims overlap. Calls that only read devices run one at a time and overlap calls for claims. All
// other calls run alone.
class CallPlace {
 public:
  explicit CallPlace(const ModuleCall& call);
  bool overlaps(const CallPlace& other) const;
  // Returns the UID of the call's claim; empty if the call has no claim.
  const std::string& claim() const { return claim_; }

 private:
  enum class Kind { kAlone, kLooks, kClaim };
  Kind kind_ = Kind::kAlone;
  std::string claim_;
};

}  // namespace cardcage
