// DRAPlugin v1 and v1beta1: the kubelet's prepare and unprepare calls for one driver name.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>

#include "host/dra/claim_batch.h"
#include "host/kubelet/protocol.h"
#include "host/rpc/unary_call.h"

namespace cardcage {

// The kubelet waits 45 s (pkg/kubelet/cm/dra/plugin/dra_plugin.go) and shows its own, poorer error after that.
struct DraLimits {
  Duration prepare = std::chrono::seconds(40);
  Duration unprepare = std::chrono::seconds(40);
};

class DraService {
 public:
  // `claims` outlives the service, and every call to it that has not returned.
  DraService(asio::io_context& core, Clock& clock, ClaimService& claims, DraLimits limits = {});
  ~DraService();
  DraService(const DraService&) = delete;
  DraService& operator=(const DraService&) = delete;

  std::array<grpc::Service*, 2> services();
  // [any-thread] Applies to new calls.
  void set_limits(const DraLimits& limits);
  // [core] Refuses new calls, waits for the open ones, and ends with UNAVAILABLE those still open at `deadline`.
  Task<void> drain(Instant deadline) { return calls_.drain(clock_, deadline); }
  // [core]
  std::size_t open_calls() const { return calls_.size(); }

 private:
  template <class Version>
  class Service;
  template <class Request, class Response>
  grpc::ServerUnaryReactor* respond(grpc::CallbackServerContext& context, ClaimOperation operation,
                                    const Request& request, Response& response);

  asio::io_context& core_;
  Clock& clock_;
  ClaimService& claims_;
  std::atomic<Duration> prepare_limit_, unprepare_limit_;
  const std::array<std::unique_ptr<grpc::Service>, 2> services_;
  UnaryCalls calls_;
};

}  // namespace cardcage
