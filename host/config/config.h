// The typed configuration of the daemon (design section 5); parsed from TOML by load_config.
//
// Two configurations are equal if they mean the same: where a value was written does not count.
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
#include <tuple>
#include <variant>
#include <vector>

#include "host/core/log.h"
#include "host/core/result.h"
#include "host/model/served_name.h"

namespace cardcage {

// Where a value was written, for messages: "cardcage.toml:12:5"; without a line, the file as a whole.
struct SourcePosition {
  std::string file;
  std::uint32_t line = 0, column = 0;
  std::string to_string() const;
  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
};

struct NodeConfig {
  std::string name;
  std::filesystem::path kubelet_root = "/var/lib/kubelet";
  std::filesystem::path state_dir = "/var/lib/cardcage";
  std::filesystem::path run_dir = "/run/cardcage";  // what ends with the boot of the node: on a tmpfs
  std::filesystem::path cdi_dir = "/var/run/cdi";
  std::filesystem::path modules_dir = "/etc/cardcage/modules";
  std::filesystem::path admin_socket = "/run/cardcage/admin.sock";
  // Empty = the API server; otherwise the folder of the embedded node.
  std::filesystem::path claims_folder;
  // Does not follow the kubelet's --root-dir (kubernetes/website#56152). Leaves 48 bytes for a socket's name, '/'
  // included.
  std::filesystem::path device_plugins_dir = "/var/lib/kubelet/device-plugins";
  // Makes socket names unique where two daemons run on one node; mostly empty.
  std::string instance;
};

struct ApiServerConfig {
  std::filesystem::path kubeconfig;  // empty = in-cluster
  std::chrono::milliseconds request_timeout{10'000};
};

struct LogConfig {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

struct MetricsConfig {
  std::string listen = "127.0.0.1:9471";  // empty = no metrics page
};

// Limits of section 3 of the design: the host always answers by itself.
struct DeadlineConfig {
  std::chrono::milliseconds prepare{40'000}, unprepare{40'000}, discover{30'000}, start{30'000}, stop{10'000};
  std::chrono::milliseconds allocate{10'000},
      pre_start{25'000};  // device-plugin API; the kubelet waits 30 s for the last
};

enum class Isolation : std::uint8_t { kProcess, kInProcess };

// How a resource is made known to the kubelet; never both ways at once.
enum class RegistrationWay : std::uint8_t {
  kAuto,      // kubelet.sock, or the registry where only that folder is there
  kKubelet,   // Register on <device_plugins_dir>/kubelet.sock
  kRegistry,  // a socket in <kubelet_root>/plugins_registry
};
// How a container gets what the module prepared.
enum class Delivery : std::uint8_t {
  kCdi,             // CDI names in the answer (Kubernetes 1.28 on)
  kCdiAnnotations,  // CDI names as annotations, for older nodes
  kDirect,          // env, device nodes and mounts in the answer, for runtimes without CDI
};
// Which devices are preferred where several fit equally.
enum class Placement : std::uint8_t {
  kPacked,  // close together, and where others of the pod's kind are already: keeps large groups free
  kSpread,  // far apart: over sockets, and over the devices with the fewest used replicas
};

constexpr std::uint32_t kMaxReplicas = 1000;

// A device-plugin resource beyond its name.
struct ResourceConfig {
  RegistrationWay registration = RegistrationWay::kAuto;
  Delivery deliver = Delivery::kCdi;
  Placement placement = Placement::kPacked;
  std::uint32_t replicas = 1;  // each device is offered so many times, as "<id>::0", "<id>::1", ...; 1 = as itself
  bool fail_requests_greater_than_one = false;  // with replicas: two of them are no more than one
  friend bool operator==(const ResourceConfig&, const ResourceConfig&) = default;
};

// A select value: shell-style glob for strings, equality for others.
using SelectValue = std::variant<std::string, std::int64_t, bool>;

struct ServeConfig {
  Api api = Api::kDra;
  std::string driver;                         // DRA driver name
  std::string resource;                       // device-plugin resource name
  ResourceConfig plugin;                      // of the resource
  std::string pool;                           // DRA pool; empty = node name
  std::map<std::string, SelectValue> select;  // keys: kind, id, name, parent, pci, attributes.<name>; all must match
  SourcePosition position;
  friend bool operator==(const ServeConfig& a, const ServeConfig& b) {
    return std::tie(a.api, a.driver, a.resource, a.plugin, a.pool, a.select) ==
           std::tie(b.api, b.driver, b.resource, b.plugin, b.pool, b.select);
  }
  ServedName served() const { return {api, api == Api::kDra ? driver : resource}; }
};

// A value of [module.options] as written; checked against the module's declarations when it is loaded.
struct RawOption {
  std::variant<std::string, std::int64_t, bool, std::vector<std::string>> value;
  SourcePosition position;
  friend bool operator==(const RawOption& a, const RawOption& b) { return a.value == b.value; }
};

// The words of ProcessConfig::limits and the resource that each stands for (getrlimit(2)).
constexpr std::pair<std::string_view, int> kProcessLimits[] = {
    {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
    {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK}};

// A module's process, with isolation = "process".
struct ProcessConfig {
  // Variables of the daemon's environment that the module may see, beside PATH, LANG and TZ.
  std::vector<std::string> environment;
  // setrlimit(2), soft and hard, by the lower-case word in RLIMIT_…: "nofile", "as"; the unit is that of the resource.
  std::map<std::string, std::uint64_t> limits;
  // Those it keeps of the daemon's, "CAP_SYS_ADMIN"; without a value all of them.
  std::optional<std::vector<std::string>> capabilities;
  bool seccomp = false;  // the filter of host/worker/confine.cc
  friend bool operator==(const ProcessConfig&, const ProcessConfig&) = default;
};

struct ModuleConfig {
  std::string name;
  std::filesystem::path path;  // relative to modules_dir
  Isolation isolation = Isolation::kProcess;
  ProcessConfig process;
  std::string sha256;  // pinned digest in hex; empty = any
  std::map<std::string, RawOption> options;
  std::vector<ServeConfig> serve;
  SourcePosition position;
  friend bool operator==(const ModuleConfig& a, const ModuleConfig& b) {
    return std::tie(a.name, a.path, a.isolation, a.process, a.sha256, a.options, a.serve) ==
           std::tie(b.name, b.path, b.isolation, b.process, b.sha256, b.options, b.serve);
  }
};

// Of two instances of one file, the same would come: all but the rules, which no instance sees.
inline bool same_instance(const ModuleConfig& a, const ModuleConfig& b) {
  return std::tie(a.name, a.path, a.isolation, a.process, a.sha256, a.options) ==
         std::tie(b.name, b.path, b.isolation, b.process, b.sha256, b.options);
}

struct Config {
  std::string sha256;  // of the text, hex
  NodeConfig node;
  ApiServerConfig apiserver;
  LogConfig log;
  MetricsConfig metrics;
  DeadlineConfig deadlines;
  std::vector<ModuleConfig> modules;
};

// All errors of a file, in order of position; never only the first.
struct ConfigErrors {
  struct Entry {
    SourcePosition position;
    std::string message;
  };
  std::vector<Entry> entries;
  std::string to_string() const;  // one line each, "file:line:column: message"
};

// The value of an environment variable, or nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> process_environment(const std::string& name);

// The text of a configuration file, of a bounded size.
Result<std::string> read_config(const std::filesystem::path& file);
// As an error of the configuration.
ConfigErrors unreadable(const std::filesystem::path& file, const Error& why);

// `$VAR` and `${VAR}` are replaced in node.name, node.instance and every path; `$$` is a dollar sign.
std::expected<Config, ConfigErrors> load_config(const std::filesystem::path& file,
                                                const Environment& environment = process_environment);
// `file` names the source in messages. Any bytes are fine; a syntax error hides the errors behind it.
std::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                                 const Environment& environment = process_environment);

// Every key that parse_config knows: "node.name", "module.serve.select.kind", ... sorted.
std::vector<std::string> known_config_keys();

// `cardcage --check FILE`: prints "FILE: ok, 2 modules, 3 drivers, 1 resource" or every error, one a line. Returns
// the exit code, 0 or 1.
int check_config(const std::filesystem::path& file, std::FILE* out);

}  // namespace cardcage
