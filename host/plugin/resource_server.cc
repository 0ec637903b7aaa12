#include "host/plugin/resource_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cstdlib>
#include <random>

#include "host/core/log.h"
#include "host/kubelet/direct_registration.h"
#include "host/kubelet/socket_dir.h"
#include "host/kubelet/watched_registration.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCloseReserve{500}, kLeastGrace{100};

// Of one server: a resource may be served again later in the life of the process.
std::string nonce() {
  std::random_device random;
  return fmt::format("{:08x}", random());
}

// The socket itself is the endpoint: it serves both services.
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
  spawn(core, server->run());
  log(LogLevel::kInfo, "serving the resource", {{"resource", server->options_.resource}});
  return server;
}

ResourceServer::ResourceServer(asio::io_context& core, Clock& clock, AllocationService& allocations,
                               DeviceListBoard& devices, ClientSlot<KubeletClients>& clients,
                               ResourceServerOptions options, std::filesystem::path registry_socket)
    : core_(core),
      clock_(clock),
      clients_(clients),
      options_(std::move(options)),
      registry_socket_(std::move(registry_socket)),
      wake_(core),
      plugin_(core, clock, options_.resource, allocations, devices, options_.limits, [this] { wake_.wake(); }),
      registration_(core, clock, plugin_info(options_.resource), [this] { wake_.wake(); }),
      server_(std::array{plugin_.service(), registration_.service()}, kMaxPluginRequestBytes),
      watch_(core, [this] { wake_.wake(); }),
      way_(make_way()),
      ended_(core) {}

ResourceServer::~ResourceServer() {
  if (stopped_) return;
  fmt::print(stderr, "cardcage: the server of resource '{}' was destroyed before it was stopped\n", options_.resource);
  std::abort();
}

Registration::Host ResourceServer::host() {
  return {.core = core_,
          .clock = clock_,
          .adopt = [this](UniqueFd connection) { server_.adopt(std::move(connection)); },
          .wake = [this] { wake_.wake(); }};
}

std::unique_ptr<Registration> ResourceServer::make_way() {
  const bool registry = options_.way == RegistrationWay::kRegistry ||
                        (options_.way == RegistrationWay::kAuto && !is_directory(options_.device_plugins_dir) &&
                         is_directory(registry_socket_.parent_path()));
  if (!registry)
    return std::make_unique<DirectRegistration>(
        host(), clients_, DirectRegistration::Options{options_.resource, options_.device_plugins_dir, nonce()});
  return std::make_unique<WatchedRegistration>(
      host(), registration_,
      WatchedRegistration::Options{options_.resource, registry_socket_, options_.device_plugins_dir / "kubelet.sock"});
}

Task<void> ResourceServer::keep_registered() {
  while (!stopping_) {
    // Watch first: what changes between the look and the wait is an event then. A failure costs the time to the next
    // look, no more.
    std::ignore = watch_.watch(options_.device_plugins_dir, FolderWatch::Of::kArrivalsToo);
    if (way_->way() == RegistrationWay::kRegistry) std::ignore = watch_.watch(registry_socket_.parent_path());
    const Instant next = way_->look({plugin_.lists().opened(), plugin_.lists().size()});
    co_await wake_.wait_until(clock_, next);
  }
  co_await way_->end();
}

Task<void> ResourceServer::run() {
  using namespace asio::experimental::awaitable_operators;
  co_await (keep_registered() && plugin_.lists().run());
  ended_.set(true);
}

void ResourceServer::reregister() {
  plugin_.lists().end();
  way_->again();
  wake_.wake();
}

Task<void> ResourceServer::stop(Instant deadline) {
  stopping_ = true;
  plugin_.lists().close();
  wake_.wake();
  co_await ended_.wait();
  const Duration budget = std::max(deadline - clock_.now(), Duration::zero());
  co_await plugin_.drain(deadline - std::min<Duration>(kCloseReserve, budget / 2));
  co_await server_.stop(core_, std::max<Duration>(deadline - clock_.now(), kLeastGrace));
  stopped_ = true;
}

ResourceStatus ResourceServer::status() const {
  const DeviceListStreams& lists = plugin_.lists();
  return {.resource = options_.resource,
          .way = way_->way(),
          .socket = way_->socket(),
          .registration = way_->view(),
          .streams = lists.size(),
          .listed = lists.listed(),
          .left_out = lists.left_out(),
          .open_calls = plugin_.open_calls()};
}

}  // namespace cardcage
