// v1beta1.DevicePlugin: the kubelet's calls for one resource.
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

// The kubelet sets no deadline for the first, and admits no other pod of the node while it waits (kubernetes#117435,
// kubernetes#129249). It waits 30 s for the other.
struct PluginLimits {
  Duration allocate = std::chrono::seconds(10);
  Duration pre_start = std::chrono::seconds(25);
};

// A request names the devices of a list, which has kMaxListBytes at most, up to twice.
constexpr int kMaxPluginRequestBytes = 8 * 1024 * 1024;

class DevicePluginService {
 public:
  // `allocations` outlives the service, and every call to it that has not returned. `devices` outlives the service.
  // `streams_changed` is passed to DeviceListStreams.
  DevicePluginService(asio::io_context& core, Clock& clock, std::string resource, AllocationService& allocations,
                      DeviceListBoard& devices, PluginLimits limits, std::function<void()> streams_changed);
  ~DevicePluginService();
  DevicePluginService(const DevicePluginService&) = delete;
  DevicePluginService& operator=(const DevicePluginService&) = delete;

  grpc::Service* service();
  // [any-thread] Applies to new calls.
  void set_limits(const PluginLimits& limits);
  // [core]
  DeviceListStreams& lists() { return lists_; }
  const DeviceListStreams& lists() const { return lists_; }
  // Refuses new calls, waits for the open ones, and ends with UNAVAILABLE those still open at `deadline`.
  Task<void> drain(Instant deadline) { return calls_.drain(clock_, deadline); }
  std::size_t open_calls() const { return calls_.size(); }

 private:
  class Service;

  grpc::Status refusal(const Error& error) const;
  // `work` is called with the OpenCall and the deadline.
  template <class Response, class Work>
  grpc::ServerUnaryReactor* respond(grpc::CallbackServerContext& context, Duration limit, Response& response,
                                    Work work);

  Clock& clock_;
  const std::string resource_;
  AllocationService& allocations_;
  DeviceListBoard& devices_;
  std::atomic<Duration> allocate_limit_, pre_start_limit_;
  DeviceListStreams lists_;
  const std::unique_ptr<grpc::Service> service_;
  UnaryCalls calls_;
};

}  // namespace cardcage
