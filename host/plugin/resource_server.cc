#include "host/plugin/resource_server.h"

#include <array>
#include <random>

#include "host/core/log.h"
#include "host/kubelet/direct_registration.h"
#include "host/kubelet/socket_dir.h"
#include "host/kubelet/watched_registration.h"

namespace cardcage {
namespace {

// One per server: a process may serve the same resource several times in its life.
std::string nonce() {
  std::random_device random;
  return fmt::format("{:08x}", random());
}

// It names no endpoint: the registration socket itself serves both services.
api::registration::PluginInfo plugin_info(const std::string& resource) {
  api::registration::PluginInfo info;
  info.set_type("DevicePlugin");
  info.set_name(resource);
  info.add_supported_versions("v1beta1");
  return info;
}

}  // namespace

Result<std::unique_ptr<ResourceServer>> ResourceServer::start(asio::io_context& core, Clock& clock,
                                                              AllocationService& allocations, DeviceListBoard& devices,
                                                              ClientSlot<KubeletClients>& clients,
                                                              ResourceServerOptions options) {
  auto registry = resource_registry_socket(options.kubelet_root, options.resource, options.instance);
  if (!registry) return within(registry.error(), "resource '{}'", options.resource);
  if (auto own = resource_socket(options.device_plugins_dir, options.resource, nonce() + "-000"); !own)
    return within(own.error(), "resource '{}'", options.resource);
  remove_stale_sockets(options.device_plugins_dir);
  remove_stale_sockets(registry->parent_path());
  std::unique_ptr<ResourceServer> server(
      new ResourceServer(core, clock, allocations, devices, clients, std::move(options), std::move(*registry)));
  server->PluginServer::start();
  log(LogLevel::kInfo, "serving the resource", {{"resource", server->name().name}});
  return server;
}

ResourceServer::ResourceServer(asio::io_context& core, Clock& clock, AllocationService& allocations,
                               DeviceListBoard& devices, ClientSlot<KubeletClients>& clients,
                               ResourceServerOptions options, std::filesystem::path registry_socket)
    : PluginServer(core, clock, {Api::kDevicePlugin, options.resource}, plugin_info(options.resource)),
      options_(std::move(options)),
      registry_socket_(std::move(registry_socket)),
      plugin_(core, clock, options_.resource, allocations, devices, options_.limits, [this] { wake(); }),
      server_(std::array{plugin_.service(), registration().service()}, kMaxPluginRequestBytes),
      way_(make_way(clients)) {}

std::unique_ptr<Registration> ResourceServer::make_way(ClientSlot<KubeletClients>& clients) {
  const bool registry = options_.way == RegistrationWay::kRegistry ||
                        (options_.way == RegistrationWay::kAuto && !is_directory(options_.device_plugins_dir) &&
                         is_directory(registry_socket_.parent_path()));
  Registration::Host host{.core = core(),
                          .clock = clock(),
                          .adopt = [this](UniqueFd connection) { server_.adopt(this->core(), std::move(connection)); },
                          .wake = [this] { wake(); }};
  if (!registry)
    return std::make_unique<DirectRegistration>(
        std::move(host), clients, DirectRegistration::Options{options_.resource, options_.device_plugins_dir, nonce()});
  return std::make_unique<WatchedRegistration>(
      std::move(host), registration(),
      WatchedRegistration::Options{options_.resource, registry_socket_, options_.device_plugins_dir / "kubelet.sock"});
}

Instant ResourceServer::maintain() {
  // Watch first: what changes between the check and the wait is an event then. Without a watch a change is noticed at
  // the next call.
  std::ignore = folders().watch(options_.device_plugins_dir, FolderWatch::Events::kArrivalsToo);
  if (way_->way() == RegistrationWay::kRegistry) std::ignore = folders().watch(registry_socket_.parent_path());
  return way_->maintain({plugin_.lists().opened(), plugin_.lists().size()});
}

void ResourceServer::reregister() {
  plugin_.lists().end();
  way_->restart();
  wake();
}

Task<void> ResourceServer::withdraw() {
  plugin_.lists().close();
  co_await way_->end();
}

ResourceStatus ResourceServer::status() const {
  const DeviceListStreams& lists = plugin_.lists();
  return {.way = way_->way(),
          .socket = way_->socket(),
          .registration = way_->view(),
          .streams = lists.size(),
          .listed = lists.listed(),
          .left_out = lists.left_out(),
          .open_calls = plugin_.open_calls()};
}

}  // namespace cardcage
