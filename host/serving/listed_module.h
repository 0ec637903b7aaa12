// One module in the table of devices: the devices that it lists, and the names under which its rules serve them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/ledger/record.h"
#include "host/supervision/supervisor.h"

namespace cardcage {

// An entry of the table. It reads the state of its module from the supervisor, and ends with the next snapshot.
struct ServedDevice {
  const Supervisor* supervisor = nullptr;
  Device device;  // includes attributes from sysfs
  ServedName
      served;        // from the rule that matches the device; empty = no rule matches, or it has no name for the device
  std::string pool;  // empty for a resource
  bool offered() const { return !served.name.empty() && supervisor->draining().empty(); }
};

// Converts the device to the form that a claim holds, to look up its holders.
HeldDevice held_device(const ServedDevice& served);

// Returns the pool of the rule's devices: by default, that of the node.
std::string pool_of(const ServeConfig& rule, const std::string& node_name);

// [core] The supervisor outlives it.
class ListedModule {
 public:
  // Limits the names that one pattern may give: each has a socket, and modules choose them.
  static constexpr std::size_t kMaxNames = 64;

  // Until the module lists its devices, each name in `held` counts as one that a pattern gives, if one can give it.
  ListedModule(const Supervisor& supervisor, const std::set<std::string>& held);

  // Reads the newest snapshot and the rules.
  void update(const NodeConfig& node);

  const Supervisor& supervisor() const { return *supervisor_; }
  const std::string& name() const { return supervisor_->config().name; }
  // Returns the list as of the last update; null before the module's first.
  const SnapshotPtr& snapshot() const { return snapshot_; }
  // Returns the devices by id.
  const std::vector<ServedDevice>& devices() const { return devices_; }
  // Returns null if the module does not list the device.
  const ServedDevice* find(std::string_view device_id) const;
  // Returns the names that the pattern of a rule gives: those that devices have, or have had since it became a rule.
  std::set<std::string> names(const ServeConfig& rule) const;
  bool serves(const ServedName& name) const;
  bool offers(const ServedName& name) const { return supervisor_->draining().empty() && serves(name); }

 private:
  using Names = std::map<std::string, std::set<std::string>>;  // by pattern
  void expect(const std::set<std::string>& names);
  void apply_rules(const std::string& node_name);
  // Records a new name. Returns an empty name if the rule has none for the device.
  ServedName name_from(const ServeConfig& rule, const Device& device);

  const Supervisor* supervisor_;
  SnapshotPtr snapshot_;
  std::vector<ServedDevice> devices_;
  Names given_;
  Names expected_;  // known from an earlier daemon, until a device has them
};

// Returns the first module that serves the name; null if none does.
const Supervisor* first_that_serves(const std::vector<ListedModule>& modules, const ServedName& name);

}  // namespace cardcage
