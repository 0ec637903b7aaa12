// Which device is served by which driver or resource: the snapshots of all modules, seen through [[module.serve]].
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/apiserver/slice_publisher.h"
#include "host/claim/device_directory.h"
#include "host/kubelet/health_board.h"
#include "host/module/supervisor.h"

namespace cardcage {

struct ServedDevice {
  const Supervisor* supervisor = nullptr;
  Device device;                      // with what sysfs adds
  const ServeConfig* rule = nullptr;  // null = none takes it
  std::string driver, pool;           // the rule's: a driver, or a resource, which has no pools
};

// [core] The supervisors outlive the table.
class DeviceTable final : public DeviceDirectory {
 public:
  DeviceTable(asio::io_context& core, std::string node_name, std::filesystem::path sysfs)
      : core_(core), node_name_(std::move(node_name)), sysfs_(std::move(sysfs)) {}

  // Modules in the order of the configuration: where two offer the same device name in one pool, the first one's
  // stands.
  void add(const Supervisor& supervisor) { modules_.push_back({&supervisor, nullptr, {}}); }
  // Takes the module's newest snapshot and state.
  void refresh(const Supervisor& supervisor);

  // By module, then by device id.
  std::vector<const ServedDevice*> devices() const;
  // Those of a driver or resource.
  std::vector<const ServedDevice*> devices(const std::string& driver) const;
  // That of a resource with the module's id; null if there is none.
  const ServedDevice* find_id(const std::string& resource, const std::string& device_id) const;
  // The first module that serves a driver; of a resource the only one. Null if none does.
  const Supervisor* supervisor(const std::string& driver) const;
  // What to publish, by pool. A device whose module says that it is bad is tainted, if the module so advises.
  SlicePublisher::Pools pools(const std::string& driver) const;
  HealthList health(const std::string& driver) const;
  // True once every module of the driver has started, or failed to, at least once: before that a published list would
  // take devices away for no reason.
  bool complete(const std::string& driver) const;
  // True once one of the driver's modules has listed its devices.
  bool known(const std::string& driver) const;

  Result<LocatedDevice> locate(const std::string& driver, const std::string& pool,
                               const std::string& device) const override;
  Result<LocatedDevice> locate_id(const std::string& resource, const std::string& device_id) const override;
  Result<std::shared_ptr<Module>> module(const std::string& name) const override;
  Task<void> started(std::string driver, Instant deadline) const override;

 private:
  struct Entry {
    const Supervisor* supervisor;
    SnapshotPtr snapshot;
    std::vector<ServedDevice> devices;
  };
  static bool serves(const Entry& entry, const std::string& driver);
  std::string pool_of(const ServeConfig& rule) const {
    return rule.api == Api::kDevicePlugin ? "" : rule.pool.empty() ? node_name_ : rule.pool;
  }
  static Result<LocatedDevice> located(const ServedDevice& served);
  ServedDevice serve(const Supervisor& supervisor, const Device& device) const;
  void index();

  asio::io_context& core_;
  std::string node_name_;
  std::filesystem::path sysfs_;
  std::vector<Entry> modules_;
  mutable std::vector<std::pair<std::string, OneShot<bool>>> waiting_;  // for a driver to be complete
  // (driver, pool, device name)
  std::map<std::tuple<std::string, std::string, std::string>, const ServedDevice*> served_;
  // (driver, the module's id), which is unique in a resource
  std::map<std::pair<std::string_view, std::string_view>, const ServedDevice*> ids_;
};

}  // namespace cardcage
