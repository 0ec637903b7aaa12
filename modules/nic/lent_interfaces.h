// The interfaces of devices that claims hold. The node's sysfs does not show an interface that a pod has.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "modules/nic/kept_interface.h"
#include "modules/nic/nic.h"

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
  // Returns the interfaces by device id.
  std::map<std::string, LentInterface> all() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, LentInterface> lent;
    for (const auto& [uid, interfaces] : by_claim_)
      for (const KeptInterface& kept : interfaces)
        lent.emplace(kept.device, LentInterface{.netdev = kept.netdev, .rdma = names_of(kept.rdma)});
    return lent;
  }
  // Returns the names of the RDMA devices that move with the interface of a device.
  std::vector<std::filesystem::path> rdma_of(std::string_view device) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [uid, interfaces] : by_claim_)
      for (const KeptInterface& kept : interfaces)
        if (kept.device == device) return names_of(kept.rdma);
    return {};
  }

 private:
  static std::vector<std::filesystem::path> names_of(const std::vector<RdmaDevice>& devices) {
    std::vector<std::filesystem::path> names;
    for (const RdmaDevice& device : devices) names.emplace_back(device.name);
    return names;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<KeptInterface>> by_claim_;
};

}  // namespace cardcage::nic
