// All device-plugin resources of the host, and the holders of their devices as the kubelet reports them.
#pragma once

#include <string>
#include <vector>

#include "host/claim/handed_out.h"
#include "host/serving/served_set.h"

namespace cardcage {

// [core]
class Resources final : public ServedSet<Resource>, public HandedOut {
 public:
  using ServedSet::ServedSet;

  std::vector<ServedResource> served() const override;
  std::vector<HandedOutDevice> handed_out() const override;
  void seen(const ResourceDevice& device, const PodContainer& holder) override;
  Task<Status> release(HandedOutDevice device) override;
  Task<Status> adopt(ResourceDevice device, PodContainer holder) override;
  void lost(const std::string& resource) override;
  void resend(const std::string& resource) override;
};

}  // namespace cardcage
