// Binds a PCI function to another driver, and back to the one that it had.
//
// Source: Documentation/ABI/testing/sysfs-bus-pci of the kernel (driver_override, unbind, drivers_probe).
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "host/access/driver_records.h"
#include "host/core/fault_point.h"
#include "host/core/task.h"
#include "host/wire/messages.h"

namespace cardcage {

// The name that driverctl uses. No driver may have it.
constexpr std::string_view kNoDriver = "none";

// [core] Switches one function. bind() and restore() can continue after each step, in this daemon or the next.
class DriverSwitch {
 public:
  struct Ways {
    std::filesystem::path sysfs;
    DriverRecords& records;
    // Makes the access; see make_access().
    std::function<Task<Result<std::string>>(wire::Access access, std::string what)> access;
    FaultHook fault;
  };
  DriverSwitch(Ways ways, std::string pci_bus_id);

  // kNoDriver leaves the function without a driver.
  Task<Status> bind(std::string driver);
  // Binds the driver that the function had before the first bind(), or none; succeeds if bind() was never called.
  Task<Status> restore();

 private:
  Status check() const;
  // Returns an empty string if the function has no driver.
  std::string driver() const;
  Task<Status> remember();
  Task<Status> move_to(std::string driver_override);
  Task<Status> write(std::filesystem::path file, std::string text, FaultPoint done);

  const Ways ways_;
  const std::string pci_bus_id_;
  const std::filesystem::path function_;
};

}  // namespace cardcage
