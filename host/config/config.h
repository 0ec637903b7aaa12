// The typed configuration of the daemon (design section 5); parsed from TOML by load_config.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/core/log.h"
#include "host/core/result.h"

namespace cardcage {

// Where a value was written, for messages: "cardcage.toml:12:5".
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
  std::filesystem::path cdi_dir = "/var/run/cdi";
  std::filesystem::path modules_dir = "/etc/cardcage/modules";
  std::filesystem::path admin_socket = "/run/cardcage/admin.sock";
  // Empty = the API server; otherwise the folder of the embedded node.
  std::filesystem::path claims_folder;
  // Makes socket names unique during a rolling update; "$POD_UID" in a DaemonSet, empty otherwise.
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

// Limits of section 3 of the design: the host always answers by itself.
struct DeadlineConfig {
  std::chrono::milliseconds prepare{40'000}, unprepare{40'000}, discover{30'000}, start{30'000}, stop{10'000};
};

enum class Isolation : std::uint8_t { kProcess, kInProcess };
enum class Api : std::uint8_t { kDra, kDevicePlugin };

// A select value: shell-style glob for strings, equality for others.
using SelectValue = std::variant<std::string, std::int64_t, bool>;

struct ServeConfig {
  Api api = Api::kDra;
  std::string driver;                         // DRA driver name
  std::string resource;                       // device-plugin resource name
  std::string pool;                           // DRA pool; empty = node name
  std::map<std::string, SelectValue> select;  // keys: kind, id, name, parent, pci, attributes.<name>; all must match
  SourcePosition position;
  friend bool operator==(const ServeConfig&, const ServeConfig&) = default;
};

// A value of [module.options] as written; checked against the module's declarations when it is loaded.
struct RawOption {
  std::variant<std::string, std::int64_t, bool, std::vector<std::string>> value;
  SourcePosition position;
  friend bool operator==(const RawOption&, const RawOption&) = default;
};

struct ModuleConfig {
  std::string name;
  std::filesystem::path path;  // relative to modules_dir
  Isolation isolation = Isolation::kInProcess;
  std::string sha256;  // pinned digest in hex; empty = any
  std::map<std::string, RawOption> options;
  std::vector<ServeConfig> serve;
  SourcePosition position;
  friend bool operator==(const ModuleConfig&, const ModuleConfig&) = default;
};

struct Config {
  NodeConfig node;
  ApiServerConfig apiserver;
  LogConfig log;
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

std::expected<Config, ConfigErrors> load_config(const std::filesystem::path& file);
// `file` names the source in messages.
std::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file);

}  // namespace cardcage
