// Binds a PCI function to another driver, and back to the one that it had.
//
// Source: Documentation/ABI/testing/sysfs-bus-pci of the kernel (driver_override, unbind, drivers_probe).
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "host/core/fault_point.h"
#include "host/core/task.h"
#include "host/module/driver_records.h"
#include "host/wire/messages.h"

namespace cardcage {

// As driverctl calls it. No driver may be called so.
constexpr std::string_view kNoDriver = "none";

// [core] One function. Each step leaves a state from which both bind() and restore() go on, in this daemon or the next.
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

  // kNoDriver frees it from any.
  Task<Status> bind(std::string driver);
  // To the driver that the function had before the first bind(), or to none; succeeds if there was none such.
  Task<Status> restore();

 private:
  Status check() const;
  // Empty if it has none.
  std::string driver() const;
  Task<Status> remember();
  Task<Status> move_to(std::string driver_override);
  Task<Status> write(std::filesystem::path file, std::string text, FaultPoint done);

  const Ways ways_;
  const std::string pci_bus_id_;
  const std::filesystem::path function_;
};

}  // namespace cardcage
