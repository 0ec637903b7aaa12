// What the admin API shows of the daemon: plain values, made on the core when somebody asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/claim/claim.h"
#include "host/config/config.h"
#include "host/core/task.h"
#include "host/device/device.h"
#include "host/module/module.h"

namespace cardcage {

using WallTime = std::chrono::system_clock::time_point;

// A state in one word, and why, for people; the detail may be empty.
struct Condition {
  std::string state, detail;
};

struct DriverReport {
  std::string name, module, pool;
  std::filesystem::path socket;  // of the DRA service
  Condition registration;        // "registered"; "waiting" for a kubelet; "refused" by it: its text
  Condition publication;         // "published"; "pending"; "failing": the last error
  std::int64_t generation = 0;   // of the pool as published
  std::uint32_t slices = 0, devices = 0;
};

struct StatusReport {
  std::string node;
  WallTime started;
  Duration uptime{};
  std::filesystem::path config_file;
  std::string config_sha256;
  Condition api_server;  // "connected"; "unreachable": the last error; "embedded": no cluster
  Condition ledger;      // "ok"; "rebuilt" after corruption; "failing": the last error
  std::uint64_t live_claims = 0;
  std::vector<DriverReport> drivers;
  std::vector<std::string> warnings;  // what an operator should look at
};

struct ModuleReport {
  std::string name;
  std::filesystem::path path;
  Isolation isolation = Isolation::kInProcess;
  Condition state;  // "starting"; "running"; "restarting" or "failed": the last error; "stopped"
  std::uint32_t devices = 0, restarts = 0;
  std::shared_ptr<const ModuleIdentity> identity;  // null until the module was loaded
  OptionValues options;                            // secret ones included: they do not leave the process
};

struct DeviceReport {
  std::string module;
  Device device;
  std::string driver, pool;       // empty = no rule takes the device
  std::vector<ClaimRef> holders;  // whose claims it is prepared for
};

// One driver's part of a claim.
struct ClaimReport {
  struct Allocated {
    std::string request, pool, device;
    std::vector<std::string> cdi_device_ids;
  };
  ClaimRef ref;
  std::string driver, module;
  std::string state;  // "preparing", "prepared", "unpreparing"
  WallTime prepared{};
  std::vector<Allocated> devices;
};

// Empty = any.
struct HistoryFilter {
  std::string claim;  // UID, "namespace/name" or "name"
  std::string driver, device;
  WallTime since{};
  std::uint32_t limit = 100;
};

struct HistoryReport {
  ClaimReport claim;
  WallTime ended{};
  std::string outcome;  // "unprepared", "failed", ...
};

// [core] The daemon as the admin API sees it.
class DaemonView {
 public:
  virtual ~DaemonView() = default;

  virtual StatusReport status() const = 0;
  virtual std::vector<ModuleReport> modules() const = 0;  // in the order of the configuration
  virtual std::vector<DeviceReport> devices() const = 0;  // by module, then by device id
  virtual Task<Result<std::vector<ClaimReport>>> claims() = 0;
  virtual Task<Result<std::vector<HistoryReport>>> history(HistoryFilter filter) = 0;  // newest first
};

}  // namespace cardcage
