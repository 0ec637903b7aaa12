// The devices that are served under each driver or resource name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/serving/listed_module.h"

namespace cardcage {

// [core] Points into the modules that it was built from.
class NameIndex {
 public:
  // The devices of one name. The texts point into the devices.
  struct Devices {
    const Supervisor* supervisor = nullptr;  // the first module that serves the name
    std::map<std::pair<std::string_view, std::string_view>, const ServedDevice*> names;  // by pool and device name
    std::map<std::string_view, const ServedDevice*> ids;                                 // unique in a resource
  };

  // Logs devices that no pod can get, because an earlier module offers their name. Draining modules must come last:
  // their devices are found unless another module offers the name.
  void build(const std::vector<ListedModule>& modules);
  // Returns an empty entry for a name that is not served.
  const Devices& of(const ServedName& name) const;
  // Returns all devices of the name, by pool and name, with those of modules that drain.
  std::vector<const ServedDevice*> all_of(const ServedName& name) const;

 private:
  void add(const ServedDevice& served, const std::vector<ListedModule>& modules,
           std::map<std::string_view, const ServedDevice*>& plugin_ids);

  std::map<ServedName, Devices> served_;
};

}  // namespace cardcage
