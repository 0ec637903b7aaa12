// The daemon as operators see it: plain values, made on the core when somebody asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/config/live_config.h"
#include "host/core/parent.h"
#include "host/core/task.h"
#include "host/health/rules.h"
#include "host/ledger/history.h"
#include "host/ledger/record.h"
#include "host/model/condition.h"
#include "host/model/device.h"
#include "host/model/health_record.h"
#include "host/model/module.h"
#include "host/model/service_report.h"
#include "host/supervision/command.h"

namespace cardcage {

struct DriverReport {
  std::string name, module, pool;  // several modules or pools are separated by ", "
  std::filesystem::path socket;    // of the DRA service; empty = none now
  Condition registration;          // "registered"; "waiting" or "asked"; "refused" by the kubelet
  Condition publication;           // "published"; "pending", "withdrawing" or "withdrawn"; "failing"
  std::int64_t generation = 0;     // of the pool as published
  std::uint32_t slices = 0, devices = 0;
};

struct ResourceReport {
  std::string name, module;
  std::filesystem::path socket;                            // where the kubelet calls; empty = none now
  std::optional<RegistrationWay> way;                      // in use: never kAuto; absent without a socket
  Condition registration;                                  // as for a driver
  std::uint32_t devices = 0, healthy = 0, handed_out = 0;  // device ids, with replicas
};

struct StatusReport {
  std::string node;
  WallTime started;
  Duration uptime{};
  Restarts restarts;
  std::filesystem::path config_file;
  std::string config_sha256;  // of the running configuration
  ConfigState config;
  std::vector<std::string> refused_by = {};  // modules that run with an older configuration or file
  Condition api_server;                      // "connected", or "embedded" without a cluster; "waiting"; "unreachable"
  Condition ledger;                     // "ok", or "rebuilt" after corruption; "failing"; "refusing" further claims
  std::uint64_t unwritten_changes = 0;  // of claims, that the ledger's disk does not have yet
  std::uint64_t live_claims = 0;
  std::uint64_t early_claims = 0, late_claims = 0;  // read before the kubelet asked for them, and when it did
  std::vector<DriverReport> drivers;
  std::vector<ResourceReport> resources;
  std::optional<Condition> pod_resources;  // "ok"; "waiting" or "absent"; "failing"; nothing without resources
  std::optional<Condition> node_labels;    // "written"; "absent"; "failing"; nothing without labels
  std::optional<Condition> runtime;  // "connected"; "registering"; "no runtime"; "failed". Nothing unless it is asked
  std::optional<Condition> claim_status;  // "written"; "pending"; "refused" or "failing"; nothing without statements
  std::vector<std::string> warnings;      // what an operator should look at
};

// The permissions of a module beyond its own process.
struct ModulePermissions {
  std::string confined_by;  // "user nobody, no capabilities, seccomp"; empty = it has the daemon's rights
  std::vector<std::string> programs, writes;
  AllowedEdits edits;
};

struct ModuleReport {
  std::string name;
  std::filesystem::path path;
  Isolation isolation = Isolation::kInProcess;
  ModulePermissions permissions = {};
  Condition state;        // to_string(ModuleState), or "draining"
  bool config_ok = true;  // false while its configuration or file is refused, or it does not start with them
  std::uint32_t devices = 0, restarts = 0;
  WallTime since;                     // in this state
  std::uint32_t recent_failures = 0;  // as the restart policy counts them
  std::vector<SaidLine> lines;        // the last output of the running instance
  std::optional<ModuleEnd> last_end;
  std::optional<ModuleIdentity> identity;               // nothing until the module was loaded
  std::map<std::string, std::string> labels;            // that it wants on the node
  std::map<std::string, std::string> not_offered = {};  // why hardware is no device, by what the module calls it
  std::vector<ServiceReport> services = {};
  std::vector<std::string> drivers = {};  // DRA drivers under which its configuration serves devices
  OptionValues options;                   // includes secrets, which never leave the process
};

// The pod and container that use a device; empty texts are not known.
struct DeviceUser {
  std::string name_space, pod, container;
  std::string claim;  // empty for a resource
  friend bool operator==(const DeviceUser&, const DeviceUser&) = default;
};

struct DeviceReport {
  std::string module;
  Device device;                    // with its health as of now
  std::vector<CauseHealth> causes;  // of that health, worst first
  std::optional<CordonRecord> cordon = {};
  Api api = Api::kDra;
  std::string driver, pool;             // the driver or resource; empty = no rule takes the device
  std::vector<ClaimRef> holders;        // claims, or the pods of a resource with the kubelet's device id as uid
  std::optional<DeviceUser> user = {};  // nothing if nobody uses it, or several do
};

struct ClaimReport {
  std::shared_ptr<const ClaimRecord> record;
  std::string progress;  // of a call that a module executes for it, as the module tells; may be empty
  std::vector<ServiceReport> services = {};
  bool earlier_boot = false;  // no module was called for it since the node booted
};

// What claims may name, as one module lists it.
struct CatalogueReport {
  std::string module;
  Catalogue catalogue = {};
  std::string problem = {};  // why it is not known; empty if it is
};

// The rules by which the health of a module's devices is judged.
struct HealthRulesReport {
  std::string module;
  std::vector<NamedRule> rules;  // in the order in which they are looked at
  std::string refused = {};      // why those of the configuration are not in force; empty if they are
};

// What a reload did, or would do.
struct ReloadReport {
  struct Step {
    PlanStep what;
    std::optional<Condition> outcome;  // of a module, once applied: its state; "refused", "draining", "gone"
  };
  std::filesystem::path file;
  bool applied = false;
  std::vector<std::string> errors;  // in the file: nothing is applied
  std::vector<Step> steps;
};

// The claims of one UID that were forgotten, or would be.
struct ForgetReport {
  std::vector<ClaimReport> claims;
  std::vector<std::string> problems;  // why modules did not release them
};

// [core]
class DaemonView {
 public:
  virtual ~DaemonView() = default;

  virtual StatusReport status() const = 0;
  virtual std::vector<ModuleReport> modules() const = 0;  // in the order of the configuration
  virtual std::vector<DeviceReport> devices() const = 0;  // by module, then by device id
  virtual std::vector<ClaimReport> claims() const = 0;
  // Unprepares claims that the kubelet does not know any more. If a module cannot release its part, the record is
  // removed all the same. Without `force` nothing changes.
  virtual Task<Result<ForgetReport>> forget(std::string uid, bool force) = 0;
  virtual Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query) = 0;
  // Asks the modules that have a catalogue, or this one alone; empty = all. Responds within seconds.
  virtual Task<Result<std::vector<CatalogueReport>>> catalogue(std::string module) = 0;
  // Applies the configuration file and waits, within bounds, until the modules that change have settled.
  virtual Task<Result<ReloadReport>> reload(bool dry_run) = 0;
  // Returns the condition of the module after the command.
  virtual Task<Result<Condition>> command(ModuleCommand command) = 0;
  // Returns what has happened, for people.
  virtual Task<Result<std::string>> command(DeviceCommand command) = 0;
  // Of this module; empty = of all, in the order of the configuration.
  virtual Result<std::vector<HealthRulesReport>> health_rules(std::string module) const = 0;
  virtual Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) = 0;
};

}  // namespace cardcage
