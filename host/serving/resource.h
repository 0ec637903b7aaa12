// One device-plugin resource name: its devices as the kubelet sees them, who has them, and its sockets.
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

// [core] The kubelet is told of the resource the first time that there is something to list, devices or holders of the
// ledger. A resource that is no longer configured stays registered, with the devices that pods hold, until they are
// released.
class Resource final : public Served<ResourceServer>, public AllocationService {
 public:
  static constexpr Api kApi = Api::kDevicePlugin;
  Resource(ServedName name, const ServingContext& context);

  void configure(const ServeConfig* rule) override;
  // Nobody has a device, and the kubelet was told that there is none.
  bool idle() const override;
  void set_deadlines(const DeadlineConfig& deadlines) override;
  // Call it when the kubelet has lost the resource.
  void reregister();
  // Sends the kubelet its list once more.
  void resend();

  const DeviceListPtr& list() const { return list_.current(); }
  // Devices that cannot be listed because their ids are too long, with the text that says so.
  const std::map<std::string, std::string>& refused() const { return refused_; }
  // The devices of the module that serves the resource now, for ResourceAllocator::unavailable(). Reads the whole
  // ledger: make it once for a list of devices.
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
  // The way of registration has changed.
  bool outdated() const override { return server() && way_ != config_.registration; }
  std::vector<Candidate> candidates(const std::vector<std::string>& ids) const;
  Task<Result<ContainerGrant>> grant(std::vector<std::string> ids, Instant deadline);
  DeviceList devices_now();
  bool usable(const ServedDevice& served) const;
  std::optional<Instant> grace_end(const Supervisor& supervisor) const;
  void add_device(const ServedDevice& served, const HeldDevices& held, std::map<std::string, ListedDevice>& listed);
  void add_leaving(std::map<std::string, ListedDevice>& listed);
  Task<void> restore();
  void make_hooks(Edits& edits) const;

  ResourceConfig config_;
  ResourceAllocator allocator_;
  DeviceListBoard list_;
  ResourceTraits told_;                     // to the kubelet
  std::map<std::string, Instant> leaving_;  // ids of devices that are gone, and until when they are still listed
  std::map<std::string, std::string> refused_;
  RegistrationWay way_ = RegistrationWay::kAuto;  // of the server
  std::optional<Instant> restoring_;              // the life of the name in which restore() was begun
};

}  // namespace cardcage
