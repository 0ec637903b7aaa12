// Asks the kubelet who holds which device: PodResources v1, GA since Kubernetes 1.28.
//
// Get is not asked: it reads what List reads, leaves out the same init containers, and needs the name of the pod, which
// is what we want to know (kubernetes pkg/kubelet/apis/podresources/server_v1.go).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "host/core/clock.h"
#include "host/kubelet/clients.h"
#include "host/pods/pod_listing.h"
#include "host/rpc/client_calls.h"
#include "host/rpc/client_slot.h"

namespace cardcage {

// Device ids by resource.
using OfferedDevices = std::map<std::string, std::set<std::string>>;

// What operators see of it.
struct PodResourcesView {
  enum class State : std::uint8_t {
    kWaiting,  // not asked yet
    kOk,
    kAbsent,   // this node has no such socket
    kFailing,  // see error
  };
  State state = State::kWaiting;
  std::string error;
  std::optional<std::chrono::system_clock::time_point> last_list;
  std::size_t holdings = 0;  // in that list
};
std::string_view to_string(PodResourcesView::State state);

// [core] One call at a time. The kubelet takes 100 calls per second from everybody on the node: five of ours may come
// together, on the long run one per second; more wait. Retries are the caller's. Outlives its calls.
class PodResources {
 public:
  // `socket` is where `clients` dial; both outlive this.
  PodResources(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients, std::filesystem::path socket);

  // kUnavailable without a kubelet, kResourceExhausted if it has too many callers or its answer exceeds 16 MiB,
  // kDeadlineExceeded after 10 s, kDataLoss for an answer that cannot be whole.
  Task<Result<PodListing>> list();
  // What the kubelet offers to pods: the healthy devices. Resources without any are missing. kUnimplemented
  // before 1.23.
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
  Instant paid_until_{};  // a call costs a second, and five may be owed
  ClientCalls calls_;     // last: its calls end before the rest goes
};

}  // namespace cardcage
