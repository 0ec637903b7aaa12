#include "host/plugin/device_plugin_service.h"

#include <algorithm>

#include "host/plugin/preference.h"

namespace cardcage {
namespace {

namespace plugin = api::device_plugin;

// The kubelet sends one container per call.
constexpr int kMaxContainers = 64;
constexpr std::size_t kMaxIds = 4096;  // per container
// The kubelet waits for the choice without a deadline, as for Allocate.
constexpr std::chrono::seconds kPreferredLimit{1};

template <class Ids>
std::vector<std::string> copy(const Ids& ids) {
  return {ids.begin(), ids.end()};
}

Status check_ids(const std::vector<std::string>& ids) {
  if (ids.empty()) return fail(Code::kInvalidArgument, "a container request names no device");
  if (ids.size() > kMaxIds)
    return fail(Code::kResourceExhausted, "a container request names {} devices, the limit is {}", ids.size(), kMaxIds);
  auto sorted = ids;
  std::ranges::sort(sorted);
  if (sorted.front().empty()) return fail(Code::kInvalidArgument, "a container request names a device ''");
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail(Code::kInvalidArgument, "a container request names device '{}' twice", *twice);
  return {};
}

Status check_requests(const std::vector<std::vector<std::string>>& requests) {
  if (requests.empty()) return fail(Code::kInvalidArgument, "the request names no container");
  if (requests.size() > kMaxContainers)
    return fail(Code::kResourceExhausted, "the request names {} containers, the limit is {}", requests.size(),
                kMaxContainers);
  for (const auto& ids : requests)
    if (auto checked = check_ids(ids); !checked) return checked;
  return {};
}

void write_grant(const ContainerGrant& grant, plugin::ContainerAllocateResponse& out) {
  for (const std::string& name : grant.cdi_devices) out.add_cdi_devices()->set_name(name);
  out.mutable_annotations()->insert(grant.annotations.begin(), grant.annotations.end());
  for (const EnvVar& variable : grant.edits.env) (*out.mutable_envs())[variable.name] = variable.value;
  for (const DeviceNode& node : grant.edits.device_nodes) {
    auto& device = *out.add_devices();
    device.set_container_path(node.path);
    device.set_host_path(node.host_path.empty() ? node.path : node.host_path);
    // The runtime makes the node, so that the container need not be allowed to.
    device.set_permissions(node.permissions.empty() ? "rw" : node.permissions);
  }
  for (const Mount& mount : grant.edits.mounts) {
    auto& bind = *out.add_mounts();
    bind.set_container_path(mount.container_path);
    bind.set_host_path(mount.host_path);
    bind.set_read_only(std::ranges::find(mount.options, "ro") != mount.options.end());
  }
}

Task<Result<plugin::DevicePluginOptions>> options(ResourceTraits traits) {
  plugin::DevicePluginOptions options;
  options.set_pre_start_required(traits.pre_start);
  options.set_get_preferred_allocation_available(true);
  co_return options;
}

// The functions below refer to the AllocationService only: they may run on after the DevicePluginService is destroyed.

Task<Result<plugin::AllocateResponse>> allocate(AllocationService& allocations, const OpenCall& call,
                                                std::vector<std::vector<std::string>> requests, Instant deadline) {
  plugin::AllocateResponse response;
  for (auto& ids : requests) {
    if (call.ended()) co_return fail(Code::kCancelled, "the caller gave up");
    const auto grant = co_await allocations.allocate(std::move(ids), deadline);
    if (!grant) co_return std::unexpected(grant.error());
    write_grant(*grant, *response.add_container_responses());
  }
  if (const auto size = response.ByteSizeLong(); size > api::kMaxAnswerBytes)
    co_return fail(Code::kResourceExhausted,
                   "the response of {} bytes does not fit into the 4 MiB that the kubelet reads: "
                   "use fewer devices per container",
                   size);
  co_return response;
}

Task<Result<plugin::PreferredAllocationResponse>> preferred(AllocationService& allocations, const OpenCall& call,
                                                            std::vector<PreferenceQuery> queries, DeviceListPtr listed,
                                                            Instant deadline) {
  plugin::PreferredAllocationResponse response;
  for (PreferenceQuery& asked : queries) {
    const PreferenceQuery query = sanitize(std::move(asked), *listed);
    std::vector<std::string> choice;
    if (query.wanted > query.required.size() && query.wanted < query.available.size() && !call.ended() &&
        response.container_responses_size() < kMaxContainers)
      choice = co_await allocations.preferred(query, deadline);
    auto& out = *response.add_container_responses();
    for (std::string& id : complete(query, choice)) out.add_deviceids(std::move(id));
  }
  co_return response;
}

Task<Result<plugin::PreStartContainerResponse>> pre_start(AllocationService& allocations, std::vector<std::string> ids,
                                                          Instant deadline) {
  const Status ready = co_await allocations.pre_start(std::move(ids), deadline);
  if (!ready) co_return std::unexpected(ready.error());
  co_return plugin::PreStartContainerResponse();
}

}  // namespace

// A request does not live as long as its call, so its contents are copied.
class DevicePluginService::Service final : public plugin::DevicePlugin::CallbackService {
 public:
  explicit Service(DevicePluginService& owner) : owner_(owner) {}

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext*, const plugin::Empty*,
                                                   plugin::DevicePluginOptions* response) override {
    return owner_.calls_.respond(*response, [this](const OpenCall&) { return options(owner_.allocations_.traits()); });
  }
  grpc::ServerWriteReactor<plugin::ListAndWatchResponse>* ListAndWatch(grpc::CallbackServerContext*,
                                                                       const plugin::Empty*) override {
    return owner_.lists_.open();
  }
  grpc::ServerUnaryReactor* GetPreferredAllocation(grpc::CallbackServerContext* context,
                                                   const plugin::PreferredAllocationRequest* request,
                                                   plugin::PreferredAllocationResponse* response) override {
    std::vector<PreferenceQuery> queries;
    for (const auto& container : request->container_requests())
      queries.push_back({copy(container.available_deviceids()), copy(container.must_include_deviceids()),
                         static_cast<std::size_t>(std::max(container.allocation_size(), 0))});
    return owner_.respond(*context, kPreferredLimit, *response,
                          [this, queries = std::move(queries)](const OpenCall& call, Instant deadline) mutable {
                            return preferred(owner_.allocations_, call, std::move(queries), owner_.devices_.current(),
                                             deadline);
                          });
  }
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context, const plugin::AllocateRequest* request,
                                     plugin::AllocateResponse* response) override {
    std::vector<std::vector<std::string>> requests;
    for (const auto& container : request->container_requests()) requests.push_back(copy(container.devices_ids()));
    if (auto checked = check_requests(requests); !checked)
      return finish_at_once(*context, owner_.refusal(checked.error()));
    return owner_.respond(*context, owner_.allocate_limit_, *response,
                          [this, requests = std::move(requests)](const OpenCall& call, Instant deadline) mutable {
                            return allocate(owner_.allocations_, call, std::move(requests), deadline);
                          });
  }
  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                              const plugin::PreStartContainerRequest* request,
                                              plugin::PreStartContainerResponse* response) override {
    auto ids = copy(request->devices_ids());
    if (auto checked = check_ids(ids); !checked) return finish_at_once(*context, owner_.refusal(checked.error()));
    return owner_.respond(*context, owner_.pre_start_limit_, *response,
                          [this, ids = std::move(ids)](const OpenCall&, Instant deadline) mutable {
                            return pre_start(owner_.allocations_, std::move(ids), deadline);
                          });
  }

 private:
  DevicePluginService& owner_;
};

DevicePluginService::DevicePluginService(asio::io_context& core, Clock& clock, std::string resource,
                                         AllocationService& allocations, DeviceListBoard& devices, PluginLimits limits,
                                         std::function<void()> streams_changed)
    : clock_(clock),
      resource_(std::move(resource)),
      allocations_(allocations),
      devices_(devices),
      allocate_limit_(limits.allocate),
      pre_start_limit_(limits.pre_start),
      lists_(core, clock, resource_, devices, std::move(streams_changed)),
      service_(std::make_unique<Service>(*this)),
      calls_(core) {}

DevicePluginService::~DevicePluginService() = default;

void DevicePluginService::set_limits(const PluginLimits& limits) {
  allocate_limit_ = limits.allocate;
  pre_start_limit_ = limits.pre_start;
}

grpc::Service* DevicePluginService::service() { return service_.get(); }

grpc::Status DevicePluginService::refusal(const Error& error) const {
  return to_grpc(within(error, "resource '{}'", resource_).error());
}

template <class Response, class Work>
grpc::ServerUnaryReactor* DevicePluginService::respond(grpc::CallbackServerContext& context, Duration limit,
                                                       Response& response, Work work) {
  return calls_.respond(response, [this, limit = time_to_respond(context, limit), work = std::move(work)](
                                      const OpenCall& call) mutable { return work(call, clock_.now() + limit); });
}

}  // namespace cardcage
