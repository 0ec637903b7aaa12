// One device-plugin resource name: its devices as the kubelet sees them, who has them, and its sockets.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/claim/call_meter.h"
#include "host/claim/resource_allocator.h"
#include "host/config/config.h"
#include "host/kubelet/clients.h"
#include "host/plugin/device_list.h"
#include "host/plugin/resource_server.h"
#include "host/rpc/client_slot.h"
#include "host/serving/device_table.h"
#include "host/serving/preferred.h"

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
  CallMeter& meter;
  std::function<void()> handed_out;  // something was: the kubelet will know for whom
  FaultHook fault;
};

// [core] Stays until the end once it was made, though it may be stopped in between: calls may be under way.
class Resource final : public AllocationService {
 public:
  Resource(std::string name, ResourceContext context);
  ~Resource() override;

  // Takes what the table says, soon and once for a burst of changes. The first time that there is something to list,
  // devices or holders of the ledger, the kubelet is told of the resource.
  void refresh_soon();
  Task<void> stop(Instant deadline);
  // After a stop: as it was made, with the configuration as it is now.
  void start();
  // False between a stop and a start.
  bool running() const { return !stopping_; }
  // What the rule says. Without one the resource is only in the ledger, or was configured before: its devices are let
  // go of.
  void configure(const ResourceConfig* config);
  bool configured() const { return configured_; }
  // The way of registration is another one: a stop and a start are due.
  bool outdated() const;
  // Nothing would be missed: nobody has a device, and the kubelet was told that there is none.
  bool idle() const;
  // The newest [deadlines].
  void set_deadlines(const DeadlineConfig& deadlines);
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
  ResourceConfig config_;
  bool configured_ = false;
  ResourceContext context_;
  ResourceAllocator allocator_;
  DeviceListBoard list_;
  std::unique_ptr<ResourceServer> server_;
  std::optional<Error> server_error_;
  ResourceTraits told_;                     // to the kubelet
  std::map<std::string, Instant> leaving_;  // ids of devices that are gone, until when they are still listed
  std::map<std::string, std::string> refused_;
  RegistrationWay way_ = RegistrationWay::kAuto;  // of the server
  bool refreshing_ = false, restoring_ = false, stopping_ = false;
};

}  // namespace cardcage
