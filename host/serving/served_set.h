// All drivers, or all resources, of the host.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/serving/driver.h"
#include "host/serving/resource.h"

namespace cardcage {

// [core] `Item` is Driver or Resource.
template <class Item>
class ServedSet {
 public:
  // Empty before configure().
  explicit ServedSet(const ServingContext& context) : context_(context) {}

  // Makes one item per name that a [[module.serve]] rule of the API gives, with the keys of the first such rule, and
  // one per name that only the ledger still knows, so that its claims can be released. Items of `affected`, names and
  // patterns, follow the table.
  void configure(const std::set<std::string>& affected);
  // Call it after a change of the module, when the table has it. A pattern may give new names: tidy() starts stopped
  // items with them.
  void refresh(const Supervisor& supervisor, SupervisorEvent event);
  // Stops items that must stop, and starts those that are configured and not running. Call it again while untidy().
  Task<void> tidy();
  bool untidy() const;
  Task<void> stop(Instant deadline);
  // Returns the items that are configured or still run.
  std::vector<const Item*> all() const;
  // Returns null if the name was never served.
  Item* find(const std::string& name) const;

 protected:
  const ServingContext& context() const { return context_; }
  const std::map<std::string, std::unique_ptr<Item>>& items() const { return items_; }

 private:
  const ServingContext context_;
  std::map<std::string, std::unique_ptr<Item>> items_;
  std::map<std::string, std::vector<std::set<std::string>>>
      given_;  // names of each rule by module, at its last refresh
};

using Drivers = ServedSet<Driver>;

}  // namespace cardcage
