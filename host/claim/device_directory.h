// Finds the devices of drivers and resources: the claims' view of the running modules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/ledger/record.h"
#include "host/model/module.h"

namespace cardcage {

// A device and the state of its module at one instant. It is a copy, because a claim keeps it while it waits for
// others.
struct LocatedDevice {
  std::string module;  // as configured
  Device device;
  std::string draining = {};  // why no claim may get the device any more; empty if it is available
  std::string quiesced = {};  // why no claim may get it until an operator resumes it; empty if it is available
};

// The device, or an error if its module is draining or if it is quiesced.
Result<LocatedDevice> offered(Result<LocatedDevice> located);

// [core] A device is found while its module is away, too. kNotFound for a device that no module reports, kUnavailable
// for a module that is starting, backing off or quiesced; with cause and remedy.
class DeviceDirectory {
 public:
  virtual ~DeviceDirectory() = default;

  // A device by its Kubernetes names. An empty pool stands for any, for a claim rebuilt from its CDI file.
  virtual Result<LocatedDevice> locate(const std::string& driver, const std::string& pool,
                                       const std::string& device) const = 0;
  // A device of a resource by the module's id for it.
  virtual Result<LocatedDevice> locate_id(const std::string& resource, const std::string& device_id) const = 0;
  // The running instance of a configured module. kNotFound if it is not configured.
  virtual Result<std::shared_ptr<Module>> module(const std::string& name) const = 0;
  // Like module(), to release a claim: a module that is quiesced may be able to [R12].
  virtual Result<std::shared_ptr<Module>> module_for_release(const std::string& name) const = 0;
  // The last device list of a configured module, also while it is away; null before the first.
  virtual SnapshotPtr snapshot(const std::string& module) const = 0;
  // Returns when every module of the driver has started or failed for the first time, or at the deadline. After a
  // restart the sockets are up before the modules, and a kubelet that gets UNAVAILABLE waits for a minute before it
  // calls again.
  virtual Task<void> started(std::string driver, Instant deadline) const = 0;
  // Returns when the module can be called, or cannot be expected to by the deadline, or at the deadline. A module that
  // crashed or is replaced mostly returns within seconds.
  virtual Task<void> returned(std::string module, Instant deadline) const = 0;
};

// The parts of a claim as the configured modules run them. If the part's module is no longer configured, or unknown
// because the claim was rebuilt from a CDI file, the names of its devices tell where they are now. A device keeps the
// id that it was prepared with.
struct LocatedParts {
  std::vector<ModulePart> parts;
  std::optional<Error> missing;  // why some devices, which are left out, were not found
};
LocatedParts locate_parts(const ClaimRecord& record, const DeviceDirectory& devices);

}  // namespace cardcage
