// All device-plugin resources of the host, and what the kubelet lets us know of who holds their devices.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/claim/handed_out.h"
#include "host/serving/resource.h"

namespace cardcage {

// [core]
class Resources final : public HandedOut {
 public:
  // None before configure().
  explicit Resources(const ResourceContext& context) : context_(context) {}

  // One per [[module.serve]] rule of the device-plugin API, and one per resource that only the ledger knows any more.
  // Those of `affected` take what the table says.
  void configure(const std::set<std::string>& affected);
  // The table has news of the module.
  void refresh(const Supervisor& supervisor);
  // Stops those that are not configured any more and that nobody would miss, and starts again those that are. To be
  // repeated while it is untidy().
  Task<void> tidy();
  bool untidy() const;
  Task<void> stop(Instant deadline);
  // Those that are configured, or still run.
  std::vector<const Resource*> all() const;

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
