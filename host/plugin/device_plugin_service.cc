#include "host/plugin/device_plugin_service.h"

#include <algorithm>

#include "host/plugin/preference.h"

namespace cardcage {
namespace {

namespace plugin = api::device_plugin;

// The kubelet sends one container per call.
constexpr int kMaxContainers = 64;
constexpr std::size_t kMaxIds = 4096;  // of a container

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

}  // namespace

// Requests do not live as long as the call: copy.
class DevicePluginService::Service final : public plugin::DevicePlugin::CallbackService {
 public:
  explicit Service(DevicePluginService& owner) : owner_(owner) {}

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context, const plugin::Empty*,
                                                   plugin::DevicePluginOptions* response) override {
    return owner_.take<plugin::DevicePluginOptions>(*context, owner_.preferred_limit_, *response,
                                                    [this](const Call&) { return owner_.options(); });
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
    return owner_.take<plugin::PreferredAllocationResponse>(
        *context, owner_.preferred_limit_, *response,
        [this, queries = std::move(queries)](Call call) { return owner_.preferred(std::move(call), queries); });
  }
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context, const plugin::AllocateRequest* request,
                                     plugin::AllocateResponse* response) override {
    std::vector<std::vector<std::string>> requests;
    for (const auto& container : request->container_requests()) requests.push_back(copy(container.devices_ids()));
    if (auto checked = check_requests(requests); !checked) return at_once(*context, owner_.refusal(checked.error()));
    return owner_.take<plugin::AllocateResponse>(
        *context, owner_.allocate_limit_, *response,
        [this, requests = std::move(requests)](Call call) { return owner_.allocate(std::move(call), requests); });
  }
  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                              const plugin::PreStartContainerRequest* request,
                                              plugin::PreStartContainerResponse* response) override {
    auto ids = copy(request->devices_ids());
    if (auto checked = check_ids(ids); !checked) return at_once(*context, owner_.refusal(checked.error()));
    return owner_.take<plugin::PreStartContainerResponse>(
        *context, owner_.pre_start_limit_, *response,
        [this, ids = std::move(ids)](Call call) { return owner_.pre_start(std::move(call), ids); });
  }

 private:
  DevicePluginService& owner_;
};

DevicePluginService::DevicePluginService(asio::io_context& core, Clock& clock, std::string resource,
                                         AllocationService& allocations, DeviceListBoard& devices, PluginLimits limits,
                                         std::function<void()> streams_changed)
    : core_(core),
      clock_(clock),
      resource_(std::move(resource)),
      allocations_(allocations),
      devices_(devices),
      allocate_limit_(limits.allocate),
      preferred_limit_(limits.preferred),
      pre_start_limit_(limits.pre_start),
      lists_(core, clock, resource_, devices, std::move(streams_changed)),
      service_(std::make_unique<Service>(*this)),
      open_(core, clock) {}

DevicePluginService::~DevicePluginService() = default;

void DevicePluginService::set_limits(const PluginLimits& limits) {
  allocate_limit_ = limits.allocate;
  preferred_limit_ = limits.preferred;
  pre_start_limit_ = limits.pre_start;
}

grpc::Service* DevicePluginService::service() { return service_.get(); }

grpc::Status DevicePluginService::refusal(const Error& error) const {
  return to_grpc(within(error, "resource '{}'", resource_).error());
}

template <class Response>
grpc::ServerUnaryReactor* DevicePluginService::take(grpc::CallbackServerContext& context, Duration limit,
                                                    Response& response, Work<Response> work) {
  const auto call = std::make_shared<OpenCall>(core_, clock_, time_to_answer(context, limit));
  auto* exchange = new UnaryExchange<Response>(core_, call, response);
  asio::post(core_, [this, call, work = std::move(work), exchange]() mutable {
    spawn(core_, serve(std::move(call), std::move(work), exchange));
  });
  return exchange;
}

template <class Response>
Task<void> DevicePluginService::serve(Call call, Work<Response> work, UnaryExchange<Response>* exchange) {
  call->begin();
  open_.add(call);
  auto result = co_await work(call);
  if (!result) result = within(result.error(), "resource '{}'", resource_);
  exchange->answer(std::move(result));
  open_.remove(call);
}

Task<Result<plugin::DevicePluginOptions>> DevicePluginService::options() const {
  plugin::DevicePluginOptions options;
  options.set_pre_start_required(allocations_.traits().pre_start);
  options.set_get_preferred_allocation_available(true);
  co_return options;
}

Task<Result<plugin::AllocateResponse>> DevicePluginService::allocate(Call call,
                                                                     std::vector<std::vector<std::string>> requests) {
  plugin::AllocateResponse response;
  for (auto& ids : requests) {
    if (call->over()) co_return std::unexpected(call->why_over());
    auto work = allocations_.allocate(std::move(ids), call->deadline());
    const auto grant = co_await OpenCall::result_of(call, std::move(work));
    if (!grant) co_return std::unexpected(call->why_over());
    if (!*grant) co_return std::unexpected(grant->error());
    write_grant(**grant, *response.add_container_responses());
  }
  if (const auto size = response.ByteSizeLong(); size > api::kMaxAnswerBytes)
    co_return fail(Code::kResourceExhausted,
                   "the answer of {} bytes does not fit into the 4 MiB that the kubelet reads: use fewer devices per "
                   "container",
                   size);
  co_return response;
}

Task<Result<plugin::PreferredAllocationResponse>> DevicePluginService::preferred(Call call,
                                                                                 std::vector<PreferenceQuery> queries) {
  plugin::PreferredAllocationResponse response;
  for (auto& wanted : queries) {
    const PreferenceQuery query = sane(std::move(wanted), *devices_.current());
    std::vector<std::string> choice;
    if (query.wanted > query.required.size() && query.wanted < query.available.size() && !call->over() &&
        response.container_responses_size() < kMaxContainers) {
      auto work = allocations_.preferred(query, call->deadline());
      choice = (co_await OpenCall::result_of(call, std::move(work))).value_or(std::vector<std::string>());
    }
    auto& out = *response.add_container_responses();
    for (std::string& id : completed(query, choice)) out.add_deviceids(std::move(id));
  }
  co_return response;
}

Task<Result<plugin::PreStartContainerResponse>> DevicePluginService::pre_start(Call call,
                                                                               std::vector<std::string> ids) {
  if (call->over()) co_return std::unexpected(call->why_over());
  auto work = allocations_.pre_start(std::move(ids), call->deadline());
  const auto done = co_await OpenCall::result_of(call, std::move(work));
  if (!done) co_return std::unexpected(call->why_over());
  if (!*done) co_return std::unexpected(done->error());
  co_return plugin::PreStartContainerResponse();
}

}  // namespace cardcage
