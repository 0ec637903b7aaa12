// One device-plugin resource name: its devices as the kubelet sees them, their holders, and its sockets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/claim/resource_allocator.h"
#include "host/plugin/device_list.h"
#include "host/plugin/resource_server.h"
#include "host/serving/preferred.h"
#include "host/serving/served.h"

namespace cardcage {

// [core] The resource is registered with the kubelet once there are devices or holders of the ledger to list. A
// resource that is no longer configured stays registered, with the devices that pods hold, until they are released.
class Resource final : public Served<ResourceServer>, public AllocationService {
 public:
  static constexpr Api kApi = Api::kDevicePlugin;
  Resource(ServedName name, const ServingContext& context);

  void configure(const ServeConfig* rule) override;
  // Returns true if no pod has a device, and the kubelet has an empty list.
  bool idle() const override;
  void set_deadlines(const DeadlineConfig& deadlines) override;
  // Call it when the kubelet has lost the resource.
  void reregister();
  // Sends the kubelet its list once more.
  void resend();

  const DeviceListPtr& list() const { return list_.current(); }
  // Devices that cannot be listed because their ids are too long, with the error text.
  const std::map<std::string, std::string>& refused() const { return refused_; }
  // Returns the devices of the module that serves the resource now, for ResourceAllocator::unavailable(). Reads the
  // whole ledger: call it once for a list of devices.
  HeldDevices held_devices() const;
  ResourceAllocator& allocator() { return allocator_; }
  const ResourceAllocator& allocator() const { return allocator_; }

  ResourceTraits traits() const override;
  Task<Result<ContainerGrant>> allocate(std::vector<std::string> ids, Instant deadline) override;
  Task<std::vector<std::string>> preferred(PreferenceQuery query, Instant deadline) override;
  Task<Status> pre_start(std::vector<std::string> ids, Instant deadline) override;

 private:
  Instant refresh() override;
  Result<std::unique_ptr<ResourceServer>> open_server() override;
  // Returns true after a change of the way of registration.
  bool outdated() const override { return server() && way_ != config_.registration; }
  std::vector<Candidate> candidates(const std::vector<std::string>& ids) const;
  Task<Result<ContainerGrant>> grant(std::vector<std::string> ids, Instant deadline);
  DeviceList devices_now();
  bool usable(const ServedDevice& served) const;
  std::optional<Instant> grace_end(const Supervisor& supervisor) const;
  void add_device(const ServedDevice& served, const HeldDevices& held, std::map<std::string, ListedDevice>& listed);
  void add_leaving(std::map<std::string, ListedDevice>& listed);
  Task<void> restore();

  ResourceConfig config_;
  ResourceAllocator allocator_;
  DeviceListBoard list_;
  ResourceTraits told_;                     // last traits sent to the kubelet
  std::map<std::string, Instant> leaving_;  // ids of devices that are gone, and the end of their time on the list
  std::map<std::string, std::string> refused_;
  RegistrationWay way_ = RegistrationWay::kAuto;  // the server's way
  std::optional<Instant> restoring_;              // the run of the name in which restore() was begun
};

}  // namespace cardcage
