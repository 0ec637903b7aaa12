#include "host/config/sections.h"

#include <sys/types.h>

#include <limits>

#include "host/config/fields.h"
#include "host/config/names.h"
#include "host/core/tcp_address.h"
#include "host/model/namespaced_name.h"

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
// The largest gid_t is not a group (chown(2)).
constexpr std::uint32_t kMaxGroup = std::numeric_limits<gid_t>::max() - 1;
constexpr milliseconds kLeast{100}, kMost{600'000};

void read_absolute(TableReader& table, std::string_view key, std::filesystem::path& path) {
  if (const auto text = table.expanded(key)) table.store(key, text->position, absolute_path(text->value), path);
}

void refuse_long_path(TableReader& table, std::string_view key, const std::filesystem::path& path,
                      std::size_t longest) {
  if (path.native().size() > longest)
    table.refuse(key, table.position_of(key),
                 fmt::format("'{}' is {} bytes long; unix sockets allow at most {} here", path.native(),
                             path.native().size(), longest));
}

constexpr auto short_path(std::size_t longest) {
  return [=](TableReader& table, std::string_view key, std::filesystem::path& path) {
    read_absolute(table, key, path);
    refuse_long_path(table, key, path, longest);
  };
}

void read_claims(TableReader& table, std::string_view key, std::filesystem::path& folder) {
  const auto text = table.expanded(key);
  if (text && text->value != "apiserver")
    table.store(key, text->position, absolute_path(text->value), folder, ", or write \"apiserver\"");
}

// An empty text means no path.
void read_optional_path(TableReader& table, std::string_view key, std::filesystem::path& path) {
  const auto text = table.expanded(key);
  if (text && text->value.empty())
    path.clear();
  else
    read_absolute(table, key, path);
}

void read_read_only_socket(TableReader& table, std::string_view key, std::filesystem::path& path,
                           const NodeConfig& node) {
  read_optional_path(table, key, path);
  refuse_long_path(table, key, path, kMaxSocketPath);
  if (!path.empty() && path == node.admin_socket)
    table.refuse(key, table.position_of(key), "is the admin socket, which takes commands; choose another path");
}

void read_group(TableReader& table, std::string_view key, std::uint32_t& group) {
  group = table.count(key, 0, kMaxGroup).value_or(group);
}

void read_driver_on_node(TableReader& table, std::string_view key, std::filesystem::path& path,
                         const NodeConfig& node) {
  read_optional_path(table, key, path);
  if (node.roots.driver == "/" && !path.empty())
    table.refuse(key, table.position_of(key), "needs driver_root, the folder at which cardcage sees it");
}

void read_folders(TableReader& table, std::string_view key, std::vector<std::filesystem::path>& folders) {
  const auto texts = table.expanded_list(key);
  if (table.has(key)) folders.clear();
  for (const auto& text : texts) table.store(key, text.position, absolute_path(text.value), folders.emplace_back());
}

Status check_instance(std::string_view text) { return text.empty() ? Status() : check_label(text); }

Status check_listen(std::string_view text) {
  const auto address = parse_tcp_address(text);
  return address || text.empty() ? Status() : std::unexpected(address.error());
}

Status check_claim_labels(std::string_view text) {
  if (text.empty() || parse_namespaced_name(text)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the \"namespace/name\" of a Lease", text);
}

constexpr std::pair<std::string_view, NumaAttribute> kNumaAttributes[] = {{"scalar", NumaAttribute::kScalar},
                                                                          {"list", NumaAttribute::kList}};
constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"trace", LogLevel::kTrace},
                                                             {"debug", LogLevel::kDebug},
                                                             {"info", LogLevel::kInfo},
                                                             {"warn", LogLevel::kWarn},
                                                             {"error", LogLevel::kError}};
constexpr std::pair<std::string_view, LogFormat> kFormats[] = {{"text", LogFormat::kText}, {"json", LogFormat::kJson}};

constexpr std::tuple kNode{
    field<&NodeConfig::name>(
        "name", required(expanded(check_node_name), "write this node's name in Kubernetes, usually \"$NODE_NAME\"")),
    field<&NodeConfig::kubelet_root>("kubelet_root", short_path(kMaxKubeletRoot)),
    field<&NodeConfig::state_dir>("state_dir", read_absolute),
    field<&NodeConfig::run_dir>("run_dir", read_absolute),
    field<&NodeConfig::cdi_dir>("cdi_dir", read_absolute),
    field<&NodeConfig::hooks_dir>("hooks_dir", read_absolute),
    field<&NodeConfig::modules_dirs>("modules_dir", read_folders),
    field<&NodeConfig::admin_socket>("admin_socket", short_path(kMaxSocketPath)),
    field<&NodeConfig::read_only_socket>("read_only_socket", read_read_only_socket),
    field<&NodeConfig::read_only_group>("read_only_group", read_group),
    field<&NodeConfig::claims_folder>("claims", read_claims),
    field<&NodeConfig::device_plugins_dir>("device_plugins_dir", short_path(kMaxDevicePluginsDir)),
    field<&NodeConfig::services_cgroup>("services_cgroup", read_absolute),
    field<&NodeConfig::nri_socket>("nri_socket", read_optional_path),
    field<&NodeConfig::features_dir>("features_dir", read_optional_path),
    field<&NodeConfig::numa_attribute>("numa_attribute", one_of(kNumaAttributes)),
    field<&NodeConfig::instance>("instance", expanded(check_instance)),
    field<&NodeConfig::roots, &NodeRoots::sysfs>("sysfs_root", read_absolute),
    field<&NodeConfig::roots, &NodeRoots::procfs>("procfs_root", read_absolute),
    field<&NodeConfig::roots, &NodeRoots::devfs>("devfs_root", read_absolute),
    field<&NodeConfig::roots, &NodeRoots::driver>("driver_root", read_absolute),
    field<&NodeConfig::roots, &NodeRoots::driver_on_node>("driver_root_on_node", read_driver_on_node)};

constexpr std::tuple kApiServer{
    field<&ApiServerConfig::kubeconfig>("kubeconfig", read_absolute),
    field<&ApiServerConfig::request_timeout>("request_timeout", between(kLeast, milliseconds(60'000))),
    field<&ApiServerConfig::claim_labels>("claim_labels", text(check_claim_labels))};

constexpr std::tuple kLog{field<&LogConfig::level>("level", one_of(kLevels)),
                          field<&LogConfig::format>("format", one_of(kFormats))};

constexpr std::tuple kMetrics{field<&MetricsConfig::listen>("listen", text(check_listen))};

constexpr std::tuple kDeadlines{field<&DeadlineConfig::prepare>("prepare", between(kLeast, kMaxDraCall)),
                                field<&DeadlineConfig::unprepare>("unprepare", between(kLeast, kMaxDraCall)),
                                field<&DeadlineConfig::discover>("discover", between(kLeast, kMost)),
                                field<&DeadlineConfig::start>("start", between(kLeast, kMost)),
                                field<&DeadlineConfig::stop>("stop", between(kLeast, kMost)),
                                field<&DeadlineConfig::allocate>("allocate", between(kLeast, kMaxAllocate)),
                                field<&DeadlineConfig::pre_start>("pre_start", between(kLeast, kMaxPreStart)),
                                field<&DeadlineConfig::module_call>("module_call", between(kLeast, kMost))};

// The daemon reads these sections only when it starts: folders, sockets, names and credentials.
constexpr std::tuple kRestartSections{field<&Config::node>("node", Table{kNode}),
                                      field<&Config::apiserver>("apiserver", Table{kApiServer})};

// A change of these sections takes effect at once.
constexpr std::tuple kLiveSections{field<&Config::log>("log", Table{kLog}),
                                   field<&Config::metrics>("metrics", Table{kMetrics}),
                                   field<&Config::deadlines>("deadlines", Table{kDeadlines})};

}  // namespace

void read_sections(TableReader& root, Config& config) {
  read_fields(root, config, kRestartSections);
  read_fields(root, config, kLiveSections);
  list_of(read_module)(root, "module", config.modules);
}

std::vector<std::string> changed_restart_keys(const Config& before, const Config& after) {
  return changed_keys(before, after, kRestartSections);
}

std::vector<std::string> changed_live_keys(const Config& before, const Config& after) {
  return changed_keys(before, after, kLiveSections);
}

void copy_restart_sections(const Config& from, Config& to) { copy_fields(from, to, kRestartSections); }

}  // namespace cardcage
