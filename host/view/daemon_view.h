// What the admin API shows of the daemon: plain values, made on the core when somebody asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/config/live_config.h"
#include "host/core/task.h"
#include "host/ledger/history.h"
#include "host/ledger/record.h"
#include "host/model/device.h"
#include "host/model/module.h"
#include "host/supervision/command.h"

namespace cardcage {

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

struct ResourceReport {
  std::string name, module;
  std::filesystem::path socket;                            // where the kubelet calls; empty = none now
  std::string way;                                         // of registration: "kubelet", "registry"
  Condition registration;                                  // as of a driver
  std::uint32_t devices = 0, healthy = 0, handed_out = 0;  // ids
};

struct StatusReport {
  std::string node;
  WallTime started;
  Duration uptime{};
  std::filesystem::path config_file;
  std::string config_sha256;  // of what runs
  ConfigState config;
  Condition api_server;  // "connected"; "unreachable": the last error; "embedded": no cluster
  Condition ledger;      // "ok"; "rebuilt" after corruption; "failing": the last error
  std::uint64_t live_claims = 0;
  std::vector<DriverReport> drivers;
  std::vector<ResourceReport> resources;
  Condition pod_resources;            // "ok"; "absent"; "failing": the last error; empty without resources
  std::vector<std::string> warnings;  // what an operator should look at
};

struct ModuleReport {
  std::string name;
  std::filesystem::path path;
  Isolation isolation = Isolation::kInProcess;
  Condition state;  // to_string(ModuleState), and the last error
  std::uint32_t devices = 0, restarts = 0;
  WallTime since;                     // in this state
  std::uint32_t recent_failures = 0;  // as the restart policy counts them
  std::vector<SaidLine> lines;        // that the running instance said last
  std::optional<ModuleEnd> last_end;
  std::optional<ModuleIdentity> identity;  // nothing until the module was loaded
  OptionValues options;                    // secret ones included: they do not leave the process
};

struct DeviceReport {
  std::string module;
  Device device;                  // with the health as of now
  Api api = Api::kDra;
  std::string driver, pool;       // the driver or resource; empty = no rule takes the device
  std::vector<ClaimRef> holders;  // whose claims it is prepared for; pods of a resource, with the kubelet's id as uid
};

// What a reload did, or would do.
struct ReloadReport {
  struct Step {
    PlanStep what;
    Condition outcome;  // of a module, if it was applied: its state; "refused", "draining", "gone"
  };
  std::filesystem::path file;
  bool applied = false;
  std::vector<std::string> errors;  // of the file: nothing is applied
  std::vector<Step> steps;
};

// [core] The daemon as the admin API sees it.
class DaemonView {
 public:
  virtual ~DaemonView() = default;

  virtual StatusReport status() const = 0;
  virtual std::vector<ModuleReport> modules() const = 0;  // in the order of the configuration
  virtual std::vector<DeviceReport> devices() const = 0;  // by module, then by device id
  virtual std::vector<std::shared_ptr<const ClaimRecord>> claims() const = 0;
  virtual Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query) = 0;
  // Applies the configuration file, and waits for the modules that it concerns, but not for long.
  virtual Task<Result<ReloadReport>> reload(bool dry_run) = 0;
  // The state that the module is in then.
  virtual Task<Result<Condition>> command(ModuleCommand command) = 0;
};

}  // namespace cardcage
