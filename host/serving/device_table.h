// Maps devices to driver or resource names: the snapshots of all modules, seen through [[module.serve]]. ListedModule
// has the devices that exist, NameIndex those that are served; the supervisors tell which modules run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/claim/device_directory.h"
#include "host/dra/health_board.h"
#include "host/serving/name_index.h"
#include "host/slices/slice_publisher.h"

namespace cardcage {

// [core] The supervisors outlive the table.
class DeviceTable final : public DeviceDirectory {
 public:
  DeviceTable(asio::io_context& core, Clock& clock, const NodeConfig& node) : core_(core), clock_(clock), node_(node) {}

  // Sets the modules. If two of them offer the same device name in one pool, or give the same name to a resource, the
  // first one serves it. Call it again when the modules or their rules have changed, or when a module begins or ends to
  // drain. `held` names, by module, the resources through which pods hold devices: a new module's patterns give those
  // names before it has listed its devices.
  void arrange(const std::vector<const Supervisor*>& modules,
               const std::map<std::string, std::set<std::string>>& held = {});
  // Reads the module's newest snapshot and state.
  void refresh(const Supervisor& supervisor);

  // All devices by module, then by device id.
  std::vector<const ServedDevice*> devices() const;
  // The devices offered under the name, by pool and name. Modules that drain offer none.
  std::vector<const ServedDevice*> devices(const ServedName& name) const;
  // Returns the names that the rule of the module gives. A pattern gives those that devices have, or have had since it
  // became a rule of the module.
  std::set<std::string> names(const std::string& module, const ServeConfig& rule) const;
  // Finds a device by the module's own id; null if the module does not list it.
  const ServedDevice* find(const std::string& module, std::string_view device_id) const;
  // Finds a device of a resource by the module's id; null if there is none.
  const ServedDevice* find_id(const ServedName& name, std::string_view device_id) const;
  // Returns true if a module offers a device of this name, or offered it and drains.
  bool has(const ServedName& name, const std::string& pool, const std::string& device) const {
    return index_.of(name).names.contains({pool, device});
  }
  // Finds a module by its name in the configuration; null if there is none.
  const Supervisor* supervisor_of(const std::string& module) const;
  // Returns the first module that serves the name (a resource has only one); null if none does.
  const Supervisor* supervisor(const ServedName& name) const { return first_that_serves(modules_, name); }
  // Returns the pools to publish, by name. An unhealthy device is tainted if its module advises so.
  SlicePublisher::Pools pools(const ServedName& name) const;
  // Returns the health of all listed devices, also of a module that drains, because pods may still have them.
  HealthList health(const ServedName& name) const;
  // Returns true once every module of the name has started, or failed to, at least once. A list published before that
  // would withdraw devices for no reason.
  bool complete(const ServedName& name) const;
  // Rules that take no device, and hardware that two modules publish, for people.
  const std::vector<std::string>& problems() const { return problems_; }
  // Returns true once a module of the name that does not drain has listed its devices.
  bool known(const ServedName& name) const;

  Result<LocatedDevice> locate(const std::string& driver, const std::string& pool,
                               const std::string& device) const override;
  Result<LocatedDevice> locate_id(const std::string& resource, const std::string& device_id) const override;
  Result<std::shared_ptr<Module>> module(const std::string& name) const override;
  Result<std::shared_ptr<Module>> module_for_release(const std::string& name) const override;
  SnapshotPtr snapshot(const std::string& module) const override;
  Task<void> started(std::string driver, Instant deadline) const override;
  Task<void> returned(std::string module, Instant deadline) const override;

 private:
  const ListedModule* find_module(const std::string& name) const;
  Task<void> wait_until(std::function<bool()> done, Instant deadline) const;
  void end_waits();
  void index();

  asio::io_context& core_;
  Clock& clock_;
  const NodeConfig node_;
  std::vector<ListedModule> modules_;  // draining ones come last
  NameIndex index_;
  mutable std::vector<std::pair<std::function<bool()>, OneShot<bool>>> waiting_;  // for a condition of the modules
  std::vector<std::string> problems_;
};

}  // namespace cardcage
