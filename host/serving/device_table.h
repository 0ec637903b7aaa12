// Which device is served by which driver or resource: the snapshots of all modules, seen through [[module.serve]].
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/claim/device_directory.h"
#include "host/dra/health_board.h"
#include "host/slices/slice_publisher.h"
#include "host/supervision/supervisor.h"

namespace cardcage {

struct ServedDevice {
  const Supervisor* supervisor = nullptr;
  Device device;             // with what sysfs adds
  std::string driver, pool;  // of the rule that takes it: a driver, or a resource, which has no pools
  bool offered() const { return !driver.empty() && supervisor->draining().empty(); }
};

// [core] The supervisors outlive the table.
class DeviceTable final : public DeviceDirectory {
 public:
  DeviceTable(asio::io_context& core, std::string node_name, std::filesystem::path sysfs)
      : core_(core), node_name_(std::move(node_name)), sysfs_(std::move(sysfs)) {}

  // The modules from now on: where two offer the same device name in one pool, the first one's stands. To be repeated
  // when they, their rules or the reason why one drains have changed.
  void arrange(const std::vector<const Supervisor*>& modules);
  // Takes the module's newest snapshot and state.
  void refresh(const Supervisor& supervisor);

  // By module, then by device id.
  std::vector<const ServedDevice*> devices() const;
  // Those that a driver or resource offers: not of modules that drain.
  std::vector<const ServedDevice*> devices(const std::string& driver) const;
  // That of a resource with the module's id; null if there is none.
  const ServedDevice* find_id(const std::string& resource, const std::string& device_id) const;
  // The first module that serves a driver; of a resource the only one. Null if none does.
  const Supervisor* supervisor(const std::string& driver) const;
  // What to publish, by pool. A device whose module says that it is bad is tainted, if the module so advises.
  SlicePublisher::Pools pools(const std::string& driver) const;
  // Also of devices that are not offered any more: pods may have them.
  HealthList health(const std::string& driver) const;
  // True once every module of the driver has started, or failed to, at least once: before that a published list would
  // take devices away for no reason.
  bool complete(const std::string& driver) const;
  // True once one of the driver's modules that do not drain has listed its devices.
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
  static bool offers(const Entry& entry, const std::string& driver);
  std::vector<const ServedDevice*> served(const std::string& driver) const;
  std::string pool_of(const ServeConfig& rule) const {
    return rule.api == Api::kDevicePlugin ? "" : rule.pool.empty() ? node_name_ : rule.pool;
  }
  static Result<LocatedDevice> located(const ServedDevice& served);
  void take_snapshot(Entry& entry) const;
  void assign(ServedDevice& served) const;
  void index();
  void tell_waiting();

  asio::io_context& core_;
  std::string node_name_;
  std::filesystem::path sysfs_;
  std::vector<Entry> modules_;
  mutable std::vector<std::pair<std::string, OneShot<bool>>> waiting_;  // for a driver to be complete
  // (driver, pool, device name); those of modules that drain where no other has the name
  std::map<std::tuple<std::string, std::string, std::string>, const ServedDevice*> served_;
  // (driver, the module's id), which is unique in a resource
  std::map<std::pair<std::string_view, std::string_view>, const ServedDevice*> ids_;
};

}  // namespace cardcage
