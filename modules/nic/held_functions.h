// The PCI functions that claims hold, so that no two claims have functions of one IOMMU group: a program that has one
// function on VFIO keeps all other programs from the rest of its group.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace cardcage::nic {

// [any-thread]
class HeldFunctions {
 public:
  struct Conflict {
    std::string function, claim_uid;
  };
  // Notes that the claim holds these functions and no others. Changes nothing if another claim holds one of `alone`.
  std::optional<Conflict> hold(const std::string& claim_uid, const std::set<std::string>& functions,
                               const std::set<std::string>& alone) {
    const std::lock_guard lock(mutex_);
    for (const auto& [uid, held] : by_claim_)
      for (const std::string& function : alone)
        if (uid != claim_uid && held.contains(function)) return Conflict{function, uid};
    by_claim_[claim_uid] = functions;
    return std::nullopt;
  }
  void release(const std::string& claim_uid) {
    const std::lock_guard lock(mutex_);
    by_claim_.erase(claim_uid);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::set<std::string>> by_claim_;
};

}  // namespace cardcage::nic
