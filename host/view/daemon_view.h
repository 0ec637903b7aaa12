// The daemon's state for operators: plain values, made on the core on request.
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
#include "host/model/change_counters.h"
#include "host/model/condition.h"
#include "host/model/device.h"
#include "host/model/health_record.h"
#include "host/model/module.h"
#include "host/model/service_report.h"
#include "host/supervision/command.h"
#include "host/view/state_disk.h"

namespace cardcage {

struct DriverReport {
  std::string name, module, pool;  // several modules or pools are separated by ", "
  std::filesystem::path socket;    // the DRA service's socket; empty = none now
  Condition registration;          // "registered"; "waiting" or "asked"; "refused" by the kubelet
  Condition publication;           // "published"; "pending", "withdrawing" or "withdrawn"; "failing"
  std::int64_t generation = 0;     // generation of the published pool
  std::uint32_t slices = 0, devices = 0;
};

struct ResourceReport {
  std::string name, module;
  std::filesystem::path socket;                            // socket that the kubelet calls; empty = none now
  std::optional<RegistrationWay> way;                      // current way: never kAuto; absent without a socket
  Condition registration;                                  // the same reasons as for a driver
  std::uint32_t devices = 0, healthy = 0, handed_out = 0;  // device ids, with replicas
};

struct StatusReport {
  std::string node;
  WallTime started;
  Duration uptime{};
  Restarts restarts;
  std::filesystem::path config_file;
  std::string config_sha256;  // hash of the running configuration
  ConfigState config;
  std::vector<std::string> refused_by = {};  // modules that run with an older configuration or file
  Condition api_server;                      // "connected", or "embedded" without a cluster; "waiting"; "unreachable"
  Condition ledger;                     // "ok", or "rebuilt" after corruption; "failing"; "refusing" further claims
  std::uint64_t unwritten_changes = 0;  // claim changes that are not on the ledger's disk yet
  std::uint64_t live_claims = 0;
  std::uint64_t early_claims = 0, late_claims = 0;  // read before and at the kubelet's call
  std::vector<DriverReport> drivers;
  std::vector<ResourceReport> resources;
  std::optional<Condition>
      pods_api;  // "watching"; "syncing" or "absent"; "failing"; nothing without drivers or an API server
  std::optional<Condition> pod_resources;  // "ok"; "waiting" or "absent"; "failing"; nothing without resources
  std::optional<Condition> node_labels;    // "written"; "absent"; "failing"; nothing without labels
  std::optional<Condition> runtime;        // "connected"; "registering"; "no runtime"; "failed". Nothing if NRI is off
  std::optional<Condition> claim_status;   // "written"; "pending"; "refused" or "failing"; nothing without statements
  std::optional<DiskSpace> state_disk;     // the disk of node.state_dir; nothing before it was measured
  std::vector<std::string> warnings;       // conditions that need an operator's attention
};

// The permissions of a module beyond its own process.
struct ModulePermissions {
  std::string confined_by;  // "user nobody, no capabilities, seccomp"; empty = the daemon's rights
  std::vector<std::string> programs, writes;
  AllowedEdits edits;
};

struct ModuleReport {
  std::string name;
  std::filesystem::path path;
  Isolation isolation = Isolation::kInProcess;
  ModulePermissions permissions = {};
  Condition state;        // to_string(ModuleState), or "draining"
  bool config_ok = true;  // false while its configuration or file is refused, or its start with them fails
  std::uint32_t devices = 0, restarts = 0;
  WallTime since;                     // start of this state
  std::uint32_t recent_failures = 0;  // failures counted by the restart policy
  std::vector<SaidLine> lines;        // last output of the running instance
  std::optional<ModuleEnd> last_end;
  std::optional<ModuleIdentity> identity;               // nothing until the module was loaded
  std::map<std::string, std::string> labels;            // labels that it requests for the node
  std::map<std::string, std::string> not_offered = {};  // reasons why hardware is not offered, by the module's names
  std::vector<ServiceReport> services = {};
  std::vector<std::string> drivers = {};  // DRA drivers that serve its devices by configuration
  OptionValues options;                   // include secrets, which never leave the process
};

// The pod and container that use a device; empty texts are unknown.
struct DeviceUser {
  std::string name_space, pod, container;
  std::string claim;  // empty for a resource
  friend bool operator==(const DeviceUser&, const DeviceUser&) = default;
};

struct DeviceReport {
  std::string module;
  Device device;                    // includes its current health
  std::vector<CauseHealth> causes;  // causes of that health, worst first
  std::optional<CordonRecord> cordon = {};
  Api api = Api::kDra;
  std::string driver, pool;             // driver or resource; empty = no rule takes the device
  std::vector<ClaimRef> holders;        // claims, or pods of a resource with the kubelet's device id as uid
  std::optional<DeviceUser> user = {};  // nothing without a user or with several
};

struct ClaimReport {
  std::shared_ptr<const ClaimRecord> record;
  std::string progress;  // progress of a module's call for it; may be empty
  std::vector<ServiceReport> services = {};
  bool earlier_boot = false;  // no module was called for it since the node booted
};

// The entries that claims may name, as one module lists them.
struct CatalogueReport {
  std::string module;
  Catalogue catalogue = {};
  std::string problem = {};  // why the catalogue is unknown; empty if it is known
};

// The rules that judge the health of a module's devices.
struct HealthRulesReport {
  std::string module;
  std::vector<NamedRule> rules;  // in order of precedence
  std::string refused = {};      // why the configured rules are not in force; empty if they are
};

// The effects of a reload, made or planned.
struct ReloadReport {
  struct Step {
    PlanStep what;
    std::optional<Condition> outcome;  // state of a module once applied; "refused", "draining", "gone"
  };
  std::filesystem::path file;
  bool applied = false;
  std::vector<std::string> errors;  // errors in the file; with any, nothing is applied
  std::vector<Step> steps;
};

// The claims of one UID that were forgotten, or would be.
struct ForgetReport {
  std::vector<ClaimReport> claims;
  std::vector<std::string> problems;  // reasons why modules did not release them
};

// [core]
class DaemonView {
 public:
  virtual ~DaemonView() = default;

  virtual StatusReport status() const = 0;
  virtual std::vector<ModuleReport> modules() const = 0;  // in the order of the configuration
  virtual std::vector<DeviceReport> devices() const = 0;  // by module, then by device id
  virtual std::vector<ClaimReport> claims() const = 0;
  // Unprepares claims that the kubelet does not know any more. The record is removed even if a module cannot release
  // its part. Without `force` nothing changes.
  virtual Task<Result<ForgetReport>> forget(std::string uid, bool force) = 0;
  virtual Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query) = 0;
  // Asks all modules with a catalogue, or only the named one. Responds within seconds.
  virtual Task<Result<std::vector<CatalogueReport>>> catalogue(std::string module) = 0;
  // Applies the configuration file and waits, within bounds, until the modules that change have settled.
  virtual Task<Result<ReloadReport>> reload(bool dry_run) = 0;
  // Returns the condition of the module after the command.
  virtual Task<Result<Condition>> command(ModuleCommand command) = 0;
  // Returns the outcome, for people.
  virtual Task<Result<std::string>> command(DeviceCommand command) = 0;
  // Returns the rules of the named module; of all modules, in the order of the configuration, if the name is empty.
  virtual Result<std::vector<HealthRulesReport>> health_rules(std::string module) const = 0;
  virtual Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) = 0;
  virtual ChangeCounters& changes() = 0;
};

}  // namespace cardcage
