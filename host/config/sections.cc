#include "host/config/sections.h"

#include "host/config/names.h"
#include "host/core/tcp_address.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds;

// sun_path holds 108 bytes with the final NUL (unix(7)).
constexpr std::size_t kMaxSocketPath = 107;
// The shortest socket path below it is "/plugins_registry/dra-<22 characters>-reg.sock".
constexpr std::size_t kMaxKubeletRoot = kMaxSocketPath - 53;
// The socket path below it is "/cardcage-<22 characters>-<10 characters>.sock".
constexpr std::size_t kMaxDevicePluginsDir = kMaxSocketPath - 48;
// The kubelet gives up a DRA call after 45 s, so the response must be sent before that.
constexpr milliseconds kMaxDraCall{44'000};
// The kubelet waits for Allocate without a limit, and admits no pod on the node while it waits.
constexpr milliseconds kMaxAllocate{30'000};
// KubeletPreStartContainerRPCTimeoutInSecs is 30 (deviceplugin/v1beta1/constants.go).
constexpr milliseconds kMaxPreStart{29'000};

void read_absolute(TableReader& table, std::string_view key, std::filesystem::path& path) {
  const auto text = table.expanded(key);
  if (!text) return;
  auto value = absolute_path(text->value);
  if (value)
    path = std::move(*value);
  else
    table.refuse(key, text->position, value.error().message);
}

void read_short_path(TableReader& table, std::string_view key, std::filesystem::path& path, std::size_t longest) {
  read_absolute(table, key, path);
  if (path.native().size() > longest)
    table.refuse(key, table.position_of(key),
                 fmt::format("'{}' is {} bytes long; unix sockets allow at most {} here", path.native(),
                             path.native().size(), longest));
}

void read_name(TableReader& table, std::string& name) {
  const auto text = table.expanded("name");
  if (!table.has("name"))
    table.refuse("name", table.position(), "missing; write this node's name in Kubernetes, usually \"$NODE_NAME\"");
  if (!text) return;
  if (const auto valid = check_node_name(text->value); !valid)
    table.refuse("name", text->position, valid.error().message);
  name = text->value;
}

void read_claims(TableReader& table, std::filesystem::path& folder) {
  const auto text = table.expanded("claims");
  if (!text || text->value == "apiserver") return;
  auto path = absolute_path(text->value);
  if (path)
    folder = std::move(*path);
  else
    table.refuse("claims", text->position, path.error().message + ", or write \"apiserver\"");
}

// An empty text means no path.
void read_optional_path(TableReader& table, std::string_view key, std::filesystem::path& path) {
  const auto text = table.expanded(key);
  if (text && text->value.empty())
    path.clear();
  else
    read_absolute(table, key, path);
}

void read_modules_dirs(TableReader& table, std::vector<std::filesystem::path>& folders) {
  const auto texts = table.expanded_list("modules_dir");
  if (table.has("modules_dir")) folders.clear();
  for (const auto& text : texts) {
    auto folder = absolute_path(text.value);
    if (folder)
      folders.push_back(std::move(*folder));
    else
      table.refuse("modules_dir", text.position, folder.error().message);
  }
}

void read_instance(TableReader& table, std::string& instance) {
  const auto text = table.expanded("instance");
  if (!text || text->value.empty()) return;
  if (const auto valid = check_label(text->value); !valid)
    table.refuse("instance", text->position, valid.error().message);
  instance = text->value;
}

}  // namespace

NodeConfig read_node(TableReader table) {
  NodeConfig node;
  read_name(table, node.name);
  read_short_path(table, "kubelet_root", node.kubelet_root, kMaxKubeletRoot);
  read_absolute(table, "state_dir", node.state_dir);
  read_absolute(table, "run_dir", node.run_dir);
  read_absolute(table, "cdi_dir", node.cdi_dir);
  read_absolute(table, "hooks_dir", node.hooks_dir);
  read_modules_dirs(table, node.modules_dirs);
  read_short_path(table, "admin_socket", node.admin_socket, kMaxSocketPath);
  read_claims(table, node.claims_folder);
  read_short_path(table, "device_plugins_dir", node.device_plugins_dir, kMaxDevicePluginsDir);
  read_optional_path(table, "features_dir", node.features_dir);
  read_absolute(table, "sysfs_root", node.roots.sysfs);
  read_absolute(table, "procfs_root", node.roots.procfs);
  read_absolute(table, "devfs_root", node.roots.devfs);
  read_absolute(table, "driver_root", node.roots.driver);
  read_optional_path(table, "driver_root_on_node", node.roots.driver_on_node);
  if (const auto text = table.expanded("driver_root_on_node");
      text && node.roots.driver == "/" && !node.roots.driver_on_node.empty())
    table.refuse("driver_root_on_node", text->position, "needs driver_root, the folder at which cardcage sees it");
  read_absolute(table, "services_cgroup", node.services_cgroup);
  read_optional_path(table, "nri_socket", node.nri_socket);
  static constexpr std::pair<std::string_view, NumaAttribute> kNumaAttributes[] = {{"scalar", NumaAttribute::kScalar},
                                                                                   {"list", NumaAttribute::kList}};
  node.numa_attribute = table.choice("numa_attribute", kNumaAttributes).value_or(node.numa_attribute);
  read_instance(table, node.instance);
  table.refuse_unknown_keys();
  return node;
}

ApiServerConfig read_apiserver(TableReader table) {
  ApiServerConfig apiserver;
  read_absolute(table, "kubeconfig", apiserver.kubeconfig);
  table.read_duration("request_timeout", apiserver.request_timeout, milliseconds(100), milliseconds(60'000));
  table.refuse_unknown_keys();
  return apiserver;
}

LogConfig read_log(TableReader table) {
  static constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"trace", LogLevel::kTrace},
                                                                      {"debug", LogLevel::kDebug},
                                                                      {"info", LogLevel::kInfo},
                                                                      {"warn", LogLevel::kWarn},
                                                                      {"error", LogLevel::kError}};
  static constexpr std::pair<std::string_view, LogFormat> kFormats[] = {{"text", LogFormat::kText},
                                                                        {"json", LogFormat::kJson}};
  LogConfig log;
  log.level = table.choice("level", kLevels).value_or(log.level);
  log.format = table.choice("format", kFormats).value_or(log.format);
  table.refuse_unknown_keys();
  return log;
}

MetricsConfig read_metrics(TableReader table) {
  MetricsConfig metrics;
  if (const auto listen = table.string("listen")) {
    metrics.listen = listen->value;
    const auto address = parse_tcp_address(listen->value);
    if (!address && !listen->value.empty()) table.refuse("listen", listen->position, address.error().message);
  }
  table.refuse_unknown_keys();
  return metrics;
}

DeadlineConfig read_deadlines(TableReader table) {
  constexpr milliseconds kLeast{100}, kMost{600'000};
  DeadlineConfig deadlines;
  table.read_duration("prepare", deadlines.prepare, kLeast, kMaxDraCall);
  table.read_duration("unprepare", deadlines.unprepare, kLeast, kMaxDraCall);
  table.read_duration("discover", deadlines.discover, kLeast, kMost);
  table.read_duration("start", deadlines.start, kLeast, kMost);
  table.read_duration("stop", deadlines.stop, kLeast, kMost);
  table.read_duration("allocate", deadlines.allocate, kLeast, kMaxAllocate);
  table.read_duration("pre_start", deadlines.pre_start, kLeast, kMaxPreStart);
  table.read_duration("module_call", deadlines.module_call, kLeast, kMost);
  table.refuse_unknown_keys();
  return deadlines;
}

}  // namespace cardcage
