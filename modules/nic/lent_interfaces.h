// The interfaces of devices that claims hold. A pod may have them, and then the node's sysfs does not tell of them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "modules/nic/kept_interface.h"

namespace cardcage::nic {

// [any-thread]
class LentInterfaces {
 public:
  void add(const std::string& claim_uid, std::vector<KeptInterface> interfaces) {
    const std::lock_guard lock(mutex_);
    by_claim_[claim_uid] = std::move(interfaces);
  }
  void remove(const std::string& claim_uid) {
    const std::lock_guard lock(mutex_);
    by_claim_.erase(claim_uid);
  }
  // By the id of the device.
  std::map<std::string, Netdev> all() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, Netdev> lent;
    for (const auto& [uid, interfaces] : by_claim_)
      for (const KeptInterface& kept : interfaces) lent.emplace(kept.device, kept.netdev);
    return lent;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<KeptInterface>> by_claim_;
};

}  // namespace cardcage::nic
