// v1beta1.DevicePlugin: what the kubelet asks of one resource.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "host/claim/allocation_service.h"
#include "host/plugin/device_list_streams.h"
#include "host/rpc/unary_call.h"

namespace cardcage {

// The kubelet has no deadline of its own for the first two and admits no other pod of the node while it waits
// (k/k#117435, k/k#129249); it waits 30 s for the last.
struct PluginLimits {
  Duration allocate = std::chrono::seconds(10);
  Duration preferred = std::chrono::seconds(1);
  Duration pre_start = std::chrono::seconds(25);
};

// What the kubelet sends of it in one request is at most kMaxListBytes, twice.
constexpr int kMaxPluginRequestBytes = 8 * 1024 * 1024;

class DevicePluginService {
 public:
  // `allocations` outlives the service and every call to it that has not returned, `devices` the service.
  // `streams_changed` as for DeviceListStreams.
  DevicePluginService(asio::io_context& core, Clock& clock, std::string resource, AllocationService& allocations,
                      DeviceListBoard& devices, PluginLimits limits, std::function<void()> streams_changed);
  ~DevicePluginService();
  DevicePluginService(const DevicePluginService&) = delete;
  DevicePluginService& operator=(const DevicePluginService&) = delete;

  grpc::Service* service();
  // [any-thread] Of calls from now on.
  void set_limits(const PluginLimits& limits);
  // [core]
  DeviceListStreams& lists() { return lists_; }
  const DeviceListStreams& lists() const { return lists_; }
  // Refuses new calls, waits for the open ones and fails with UNAVAILABLE what is still open at `deadline`.
  Task<void> drain(Instant deadline) { return open_.drain(deadline); }
  std::size_t open_calls() const { return open_.size(); }

 private:
  class Service;
  using Call = std::shared_ptr<OpenCall>;
  template <class Response>
  using Work = std::function<Task<Result<Response>>(Call)>;

  grpc::Status refusal(const Error& error) const;
  template <class Response>
  grpc::ServerUnaryReactor* take(grpc::CallbackServerContext& context, Duration limit, Response& response,
                                 Work<Response> work);
  template <class Response>
  Task<void> serve(Call call, Work<Response> work, UnaryExchange<Response>* exchange);
  Task<Result<api::device_plugin::DevicePluginOptions>> options() const;
  Task<Result<api::device_plugin::AllocateResponse>> allocate(Call call,
                                                              std::vector<std::vector<std::string>> requests);
  Task<Result<api::device_plugin::PreferredAllocationResponse>> preferred(Call call,
                                                                          std::vector<PreferenceQuery> queries);
  Task<Result<api::device_plugin::PreStartContainerResponse>> pre_start(Call call, std::vector<std::string> ids);

  asio::io_context& core_;
  Clock& clock_;
  const std::string resource_;
  AllocationService& allocations_;
  DeviceListBoard& devices_;
  std::atomic<Duration> allocate_limit_, preferred_limit_, pre_start_limit_;
  DeviceListStreams lists_;
  const std::unique_ptr<grpc::Service> service_;
  OpenCalls<OpenCall> open_;
};

}  // namespace cardcage
