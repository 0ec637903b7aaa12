// All DRA drivers of the host.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/serving/driver.h"

namespace cardcage {

// [core]
class Drivers {
 public:
  // None before configure().
  explicit Drivers(const DriverContext& context) : context_(context) {}

  // One per [[module.serve]] rule of the DRA API, and one per driver that only the ledger knows any more, which may
  // still have to let go of claims. Those of `affected` take what the table says.
  void configure(const std::set<std::string>& affected);
  // The table has news of the module.
  void refresh(const Supervisor& supervisor);
  // Stops those that are not configured any more and that nobody would miss, and starts again those that are. To be
  // repeated while it is untidy().
  Task<void> tidy();
  bool untidy() const;
  Task<void> stop(Instant deadline);
  // Those that are configured, or still run.
  std::vector<const Driver*> all() const;

 private:
  bool configured(const std::string& name) const { return configured_.contains(name); }

  DriverContext context_;
  std::set<std::string> configured_;
  std::map<std::string, std::unique_ptr<Driver>> drivers_;
};

}  // namespace cardcage
