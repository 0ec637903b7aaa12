// All device-plugin resources of the host, and what the kubelet lets us know of who holds their devices.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/claim/handed_out.h"
#include "host/resource.h"

namespace cardcage {

// [core]
class Resources final : public HandedOut {
 public:
  // One per [[module.serve]] rule of the device-plugin API, and one per resource that only the ledger knows any more.
  explicit Resources(const ResourceContext& context);

  // The table has news of the module.
  void refresh(const Supervisor& supervisor);
  Task<void> stop(Instant deadline);
  const std::map<std::string, std::unique_ptr<Resource>>& all() const { return resources_; }

  std::vector<ServedResource> served() const override;
  std::vector<HandedOutDevice> handed_out() const override;
  void seen(const ResourceDevice& device, const PodContainer& holder) override;
  Task<Status> release(HandedOutDevice device) override;
  Task<Status> adopt(ResourceDevice device, PodContainer holder) override;
  void lost(const std::string& resource) override;
  void resend(const std::string& resource) override;

 private:
  Resource* find(const std::string& name) const;

  ResourceContext context_;
  std::map<std::string, std::unique_ptr<Resource>> resources_;
};

}  // namespace cardcage
