// One device-plugin resource name: its devices as the kubelet sees them, who has them, and its sockets.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/claim/resource_allocator.h"
#include "host/config/config.h"
#include "host/device/preferred.h"
#include "host/device_table.h"
#include "host/kubelet/clients.h"
#include "host/kubelet/device_list.h"
#include "host/kubelet/resource_server.h"
#include "host/metrics/metrics.h"

namespace cardcage {

// What all resources share; outlives them.
struct ResourceContext {
  asio::io_context& core;
  Clock& clock;
  const Config& config;
  Ledger& ledger;
  const CdiWriter& cdi;
  const DeviceTable& table;
  ClientSlot<KubeletClients>& kubelet;
  Metrics& metrics;
  std::function<void()> handed_out;  // something was: the kubelet will know for whom
};

// [core]
class Resource final : public AllocationService {
 public:
  // A resource that is in the ledger but not in the configuration any more has no rule: its devices are only let go of.
  Resource(std::string name, const ServeConfig* rule, ResourceContext context);
  ~Resource() override;

  // Takes what the table says, soon and once for a burst of changes. The first time that there is something to list,
  // devices or holders of the ledger, the kubelet is told of the resource.
  void refresh_soon();
  Task<void> stop(Instant deadline);
  // The kubelet has lost the resource.
  void reregister();
  // The kubelet is to get its list once more.
  void resend();

  const std::string& name() const { return name_; }
  const std::optional<Error>& server_error() const { return server_error_; }
  std::optional<ResourceStatus> server_status() const;
  const DeviceListPtr& list() const { return list_.current(); }
  // Devices that cannot be listed, and why: their ids are too long.
  const std::map<std::string, std::string>& refused() const { return refused_; }
  ResourceAllocator& allocator() { return allocator_; }
  const ResourceAllocator& allocator() const { return allocator_; }

  ResourceTraits traits() const override;
  Task<Result<ContainerGrant>> allocate(std::vector<std::string> ids, Instant deadline) override;
  Task<std::vector<std::string>> preferred(PreferenceQuery query, Instant deadline) override;
  Task<Status> pre_start(std::vector<std::string> ids, Instant deadline) override;

 private:
  void refresh();
  std::vector<Candidate> candidates(const std::vector<std::string>& ids) const;
  Task<Result<ContainerGrant>> grant(std::vector<std::string> ids, Instant deadline);
  DeviceList devices_now();
  void add_device(const ServedDevice& served, std::map<std::string, ListedDevice>& listed);
  void add_leaving(std::map<std::string, ListedDevice>& listed);
  void open_server();
  Task<void> open_later();
  Task<void> refresh_later(Duration pause);
  Task<void> restore();

  const std::string name_;
  const ServeConfig* const rule_;
  const ResourceConfig config_;
  ResourceContext context_;
  ResourceAllocator allocator_;
  DeviceListBoard list_;
  std::unique_ptr<ResourceServer> server_;
  std::optional<Error> server_error_;
  ResourceTraits told_;                     // to the kubelet
  std::map<std::string, Instant> leaving_;  // ids of devices that are gone, until when they are still listed
  std::map<std::string, std::string> refused_;
  bool refreshing_ = false, restoring_ = false, stopping_ = false;
};

}  // namespace cardcage
