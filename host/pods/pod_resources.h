// Asks the kubelet for the holders of devices: PodResources v1, GA since Kubernetes 1.28.
//
// Get is not used: it leaves out the same init containers as List, and needs the name of the pod, which is what we want
// to know (kubernetes pkg/kubelet/apis/podresources/server_v1.go).
#pragma once

#include <map>
#include <set>
#include <string>

#include "host/core/clock.h"
#include "host/core/rate_limit.h"
#include "host/kubelet/clients.h"
#include "host/pods/pod_listing.h"
#include "host/rpc/client_calls.h"
#include "host/rpc/client_slot.h"

namespace cardcage {

// Device ids by resource.
using OfferedDevices = std::map<std::string, std::set<std::string>>;

// For operators.
struct PodResourcesView {
  enum class State : std::uint8_t {
    kWaiting,  // not called yet
    kOk,
    kAbsent,   // the node has no such socket
    kFailing,  // see error
  };
  State state = State::kWaiting;
  std::string error;
};
std::string_view to_string(PodResourcesView::State state);

// [core] Makes one call at a time, without retries. The kubelet accepts 100 calls per second from all callers of the
// node. Ours are limited to one per second in the long run and five at once; further calls wait.
class PodResources {
 public:
  // `socket` is the path that `clients` dial. `clients` outlives this.
  PodResources(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients, std::filesystem::path socket);

  // kUnavailable without a kubelet, kResourceExhausted if it has too many callers or its answer exceeds 16 MiB,
  // kDeadlineExceeded after 10 s, kDataLoss for an answer that cannot be whole.
  Task<Result<PodListing>> list();
  // The healthy devices that the kubelet offers to pods, without resources that have none. kUnimplemented before
  // Kubernetes 1.23.
  Task<Result<OfferedDevices>> offered();

  const PodResourcesView& view() const { return view_; }

 private:
  template <class Request, class Response, class Begin>
  Task<Result<Response>> call(Begin begin);
  Task<void> pace();
  void note(const Status& status);

  Clock& clock_;
  ClientSlot<KubeletClients>& clients_;
  const std::filesystem::path socket_;
  PodResourcesView view_;
  RateLimit limit_;
  ClientCalls calls_;  // last, so that its calls end before the other members do
};

}  // namespace cardcage
