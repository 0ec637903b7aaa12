// Where the devices of the drivers are: what claims need to know of the running modules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/ledger/record.h"
#include "host/model/module.h"

namespace cardcage {

struct LocatedDevice {
  std::shared_ptr<Module> module;
  std::string module_name;  // as configured
  Device device;
  std::string draining;  // not empty: why nobody may get it any more
};

// For the planners: a device that nobody may get is an error that says so.
Result<LocatedDevice> offered(Result<LocatedDevice> located);

// [core] Errors say why and what to do: kNotFound for a device that no module reports, kUnavailable for a module that
// is starting, backing off or quiesced.
class DeviceDirectory {
 public:
  virtual ~DeviceDirectory() = default;

  // A device by its Kubernetes names. An empty pool stands for any: it is asked for when only the CDI file of a claim
  // was left to learn from.
  virtual Result<LocatedDevice> locate(const std::string& driver, const std::string& pool,
                                       const std::string& device) const = 0;
  // A device of a resource by the module's id for it.
  virtual Result<LocatedDevice> locate_id(const std::string& resource, const std::string& device_id) const = 0;
  // The running instance of a configured module; kNotFound for one that is not configured (any more).
  virtual Result<std::shared_ptr<Module>> module(const std::string& name) const = 0;
  // Returns when every module of the driver has started, or failed to, for the first time; at the latest at the
  // deadline. After a restart the sockets are up before the modules, and a kubelet that is told UNAVAILABLE comes
  // back only after a minute.
  virtual Task<void> started(std::string driver, Instant deadline) const = 0;
};

// The parts of a claim as the modules of today run them: what a module of another name prepared, or what was rebuilt
// from a CDI file and knows no module, is found by its devices.
struct LocatedParts {
  std::vector<ModulePart> parts;
  std::optional<Error> missing;  // set: some devices were not found and are left out
};
LocatedParts locate_parts(const ClaimRecord& record, const DeviceDirectory& devices);

}  // namespace cardcage
