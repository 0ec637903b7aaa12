// The typed configuration of the daemon, parsed from TOML by load_config.
//
// Two configurations are equal if they mean the same, wherever their values stand in the file.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/core/log.h"
#include "host/core/result.h"
#include "host/model/cause.h"
#include "host/model/node_roots.h"
#include "host/model/option.h"
#include "host/model/served_name.h"

namespace cardcage {

// The position of a value, for messages: "cardcage.toml:12:5". Line 0 stands for the whole file.
struct SourcePosition {
  std::string file;
  std::uint32_t line = 0, column = 0;
  std::string to_string() const;
  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
};

// The position of a part of a configuration, which does not count when two are compared.
struct Origin : SourcePosition {
  friend bool operator==(const Origin&, const Origin&) { return true; }
};

// The form of the attribute resource.kubernetes.io/numaNode. The host cannot see which form the cluster's scheduler
// matches.
enum class NumaAttribute : std::uint8_t {
  kScalar,  // the device's node
  kList,    // also the nodes near it; needs the feature gate DRAListTypeAttributes
};

struct NodeConfig {
  std::string name;
  std::filesystem::path kubelet_root = "/var/lib/kubelet";
  std::filesystem::path state_dir = "/var/lib/cardcage";
  std::filesystem::path run_dir = "/run/cardcage";  // on a tmpfs: its content must not outlive a boot of the node
  std::filesystem::path cdi_dir = "/var/run/cdi";
  // The folder from which the container runtime starts the hook of containers; empty = "hooks" in state_dir.
  std::filesystem::path hooks_dir = {};
  // Searched in this order: the operator's folder, then that of the packages.
  std::vector<std::filesystem::path> modules_dirs = {"/etc/cardcage/modules", "/usr/lib/cardcage/modules"};
  std::filesystem::path admin_socket = "/run/cardcage/admin.sock";
  // An admin socket without commands, for the members of a group; empty = none.
  std::filesystem::path read_only_socket = {};
  std::uint32_t read_only_group = 0;
  // The folder of the embedded node; empty = claims come from the API server.
  std::filesystem::path claims_folder;
  // The kubelet's --root-dir does not move this folder (kubernetes/website#56152). The path leaves 48 bytes for the
  // name of a socket, including the '/'.
  std::filesystem::path device_plugins_dir = "/var/lib/kubelet/device-plugins";
  std::filesystem::path services_cgroup = {};  // empty = the daemon's own
  // The socket where the container runtime takes plugins (NRI); empty = no module learns of sandboxes.
  std::filesystem::path nri_socket = "/var/run/nri/nri.sock";
  NodeRoots roots;
  // The features.d of Node Feature Discovery; empty = modules get no labels of the node.
  std::filesystem::path features_dir = "/etc/kubernetes/node-feature-discovery/features.d";
  NumaAttribute numa_attribute = NumaAttribute::kScalar;
  // Makes socket names unique where two daemons run on one node; usually empty.
  std::string instance;
};

struct ApiServerConfig {
  std::filesystem::path kubeconfig;  // empty = in-cluster
  std::chrono::milliseconds request_timeout{10'000};
  std::string claim_labels;  // "namespace/name" of the Lease by which cardcage-fleet labels claims; empty = none
};

struct LogConfig {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

struct MetricsConfig {
  std::string listen = "127.0.0.1:9471";  // empty = no metrics page
};

// The limit for each call of a module. The host responds by then, even if the module never returns.
struct DeadlineConfig {
  std::chrono::milliseconds prepare{40'000}, unprepare{40'000}, discover{30'000}, start{30'000}, stop{10'000};
  // Device-plugin API only. The kubelet waits 30 s for pre_start.
  std::chrono::milliseconds allocate{10'000}, pre_start{25'000};
  // The limit for one call of a module's prepare or unprepare. It may exceed the kubelet's limit, since the kubelet's
  // repetition of the call finds the result.
  std::chrono::milliseconds module_call{120'000};
};

enum class Isolation : std::uint8_t { kProcess, kInProcess };

// How the kubelet learns of a resource; never both ways at once.
enum class RegistrationWay : std::uint8_t {
  kAuto,      // kubelet.sock, or the registry if only its folder exists
  kKubelet,   // Register on <device_plugins_dir>/kubelet.sock
  kRegistry,  // a socket in <kubelet_root>/plugins_registry
};
// The way in which a container gets the result of a prepare.
enum class Delivery : std::uint8_t {
  kCdi,             // CDI names in the response (since Kubernetes 1.28)
  kCdiAnnotations,  // CDI names as annotations, for older nodes
  kDirect,          // env, device nodes and mounts in the response, for runtimes without CDI
};
// Determines which devices are preferred if several fit equally well.
enum class Placement : std::uint8_t {
  kPacked,  // close together, and beside devices that are in use: keeps large groups free
  kSpread,  // far apart: over sockets, and over the devices with the fewest used replicas
};

constexpr std::uint32_t kMaxReplicas = 1000;

// The settings of a device-plugin resource beside its name.
struct ResourceConfig {
  RegistrationWay registration = RegistrationWay::kAuto;
  Delivery deliver = Delivery::kCdi;
  Placement placement = Placement::kPacked;
  std::uint32_t replicas = 1;  // number of offers per device, as "<id>::0", "<id>::1", ...; 1 = under its own id
  bool fail_requests_greater_than_one = false;  // with replicas: two of them give no more than one
  // The time for which devices stay listed unchanged while their module restarts.
  std::chrono::milliseconds restart_grace{5'000};
  friend bool operator==(const ResourceConfig&, const ResourceConfig&) = default;
};

// A value of `select`: a string is a shell-style glob, other values must be equal.
using SelectValue = std::variant<std::string, std::int64_t, bool>;
// Keys: kind, id, name, parent, pci, attributes.<name>. A device must match one value of each key.
using SelectTable = std::map<std::string, std::vector<SelectValue>>;
// One of the tables must select the device. A table without keys selects every device.
using Select = std::vector<SelectTable>;

// An attribute that the operator gives to devices; see operator_attributes.h.
struct AttributeConfig {
  std::string name;  // with a domain: "example.com/rail"
  SelectValue value;
  Select select = Select(1);
  friend bool operator==(const AttributeConfig&, const AttributeConfig&) = default;
};

struct ServeConfig {
  Api api = Api::kDra;
  std::string driver;     // DRA driver name
  std::string resource;   // device-plugin resource name, or a pattern: resource_pattern.h
  ResourceConfig plugin;  // for a resource
  std::string pool;       // DRA pool; empty = node name
  Select select = Select(1);
  Origin position;
  friend bool operator==(const ServeConfig&, const ServeConfig&) = default;
  ServedName served() const { return {api, api == Api::kDra ? driver : resource}; }
};

// A rule of [[module.health]] as written; the module's declaration decides everything else.
struct HealthRuleConfig {
  struct Limit {
    ValueLimit limit;
    std::string unit;  // as written, "Cel"; empty if it was left out
    friend bool operator==(const Limit&, const Limit&) = default;
  };
  std::string cause;   // a name, or a glob
  std::string reason;  // a glob; empty = any
  std::optional<Limit> limit;
  std::optional<HealthState> severity;
  std::optional<std::chrono::milliseconds> hold_down, recovery_time, window;
  std::optional<Recovery> recovery;
  std::optional<std::uint32_t> relapses, resets_per_day;
  std::optional<TaintRule> taint;
  std::optional<KubeletHealth> kubelet;
  Origin position;
  friend bool operator==(const HealthRuleConfig&, const HealthRuleConfig&) = default;
};

// A value of [module.options] as written. It is checked against the module's declarations when the module is loaded.
struct RawOption {
  OptionValue value;
  Origin position;
  bool has_tables = false;  // items of the list were tables and are lines now: "name=value\n"
  friend bool operator==(const RawOption&, const RawOption&) = default;
};

// The keys of ProcessConfig::limits and the resource that each stands for (getrlimit(2)).
constexpr std::pair<std::string_view, int> kProcessLimits[] = {
    {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
    {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK}};

// The process of a module with isolation = "process".
struct ProcessConfig {
  // Variables of the daemon's environment that the module may see, besides PATH, LANG and TZ.
  std::vector<std::string> environment;
  // Soft and hard limits for setrlimit(2). The keys are those of kProcessLimits; the unit depends on the resource.
  std::map<std::string, std::uint64_t> limits;
  std::string user;  // the process runs as this user, with the user's groups; empty = as the daemon
  // The daemon's capabilities that the process keeps, for example "CAP_SYS_ADMIN"; without a value it keeps all, or
  // none as another user.
  std::optional<std::vector<std::string>> capabilities;
  bool seccomp = false;  // use the filter of host/worker/confine.cc
  // True if the module has less than the daemon's rights. Limits and variables take no right away.
  bool confines() const { return !user.empty() || capabilities || seccomp; }
  friend bool operator==(const ProcessConfig&, const ProcessConfig&) = default;
};

// The edits that a module may give to containers; a list without a value allows everything. The container runtime makes
// hooks, mounts and device nodes as root.
struct AllowedEdits {
  using Texts = std::optional<std::vector<std::string>>;
  Texts device_nodes, hooks;  // glob patterns of absolute paths of the node
  Texts mounts;               // the same, with ":rw" where containers may write
  Texts net_devices;          // glob patterns of interfaces of the node
  Texts env;                  // names of variables, also for programs
  std::optional<std::vector<std::uint32_t>> groups;
  friend bool operator==(const AllowedEdits&, const AllowedEdits&) = default;
};

struct ModuleConfig {
  std::string name;
  std::filesystem::path path;  // relative to one of modules_dirs
  Isolation isolation = Isolation::kProcess;
  ProcessConfig process;
  std::string sha256;  // pinned digest in hex; empty = any
  // Programs that the module may have the daemon run: absolute paths with different file names.
  std::vector<std::filesystem::path> programs;
  // Paths that the module may have the daemon write to, or make ioctls on: glob patterns of absolute paths.
  std::vector<std::string> writes;
  AllowedEdits allows;  // as written; see allowed_edits()
  std::map<std::string, RawOption> options;
  std::vector<HealthRuleConfig> health;  // the first one that matches counts
  std::vector<AttributeConfig> attributes;
  std::vector<ServeConfig> serve;
  Origin position;
  friend bool operator==(const ModuleConfig&, const ModuleConfig&) = default;
};

// True if an instance of `a` would behave like one of `b`. The rules do not count, since no instance sees them.
bool same_instance(const ModuleConfig& a, const ModuleConfig& b);
// Copies the rules and the position.
void copy_rules(const ModuleConfig& from, ModuleConfig& to);

// Returns the lists in force: for a confined module, a list without a value is empty.
AllowedEdits allowed_edits(const ModuleConfig& module);

struct Config {
  std::string sha256;  // digest of the text, in hex
  NodeConfig node;
  ApiServerConfig apiserver;
  LogConfig log;
  MetricsConfig metrics;
  DeadlineConfig deadlines;
  std::vector<ModuleConfig> modules;
};

// All errors of a file, not only the first, in order of position.
struct ConfigErrors {
  struct Entry {
    SourcePosition position;
    std::string message;
  };
  std::vector<Entry> entries;
  std::string to_string() const;  // "file:line:column: message", one line each
  Error to_error() const;         // the same, without the last end of line
};

// Returns the value of an environment variable, or nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> process_environment(const std::string& name);

// The text of a configuration file; a file that is too large is an error.
Result<std::string> read_config(const std::filesystem::path& file);
// The failure of read_config as an error of the configuration.
ConfigErrors unreadable_file(const std::filesystem::path& file, const Error& cause);

// Replaces `$VAR` and `${VAR}` in node.name, node.instance and every path; `$$` is a dollar sign.
std::expected<Config, ConfigErrors> load_config(const std::filesystem::path& file,
                                                const Environment& environment = process_environment);
// `file` names the source in messages. `text` may hold any bytes. A syntax error hides the errors that follow it.
std::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                                 const Environment& environment = process_environment);

// Every key that parse_config knows, sorted: "module.serve.select.kind", "node.name", ...
std::vector<std::string> known_config_keys();

// Implements `cardcage --check FILE`: prints "FILE: ok, 2 modules, 3 drivers, 1 resource", or every error on a line of
// its own; `check_modules` finds the errors of the modules. Returns the exit code, 0 or 1.
int check_config(const std::filesystem::path& file, std::FILE* out,
                 const std::function<std::vector<Error>(const Config&)>& check_modules);

}  // namespace cardcage
