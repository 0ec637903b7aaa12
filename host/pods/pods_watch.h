// Follows the pods of the node through the kubelet's Pods API (KEP-4188): on by default since Kubernetes 1.37, off in
// 1.36, absent before. It is optional: it has the UIDs of pods, and reports early that a pod comes or is gone.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "host/claim/claim_reader.h"
#include "host/core/backoff.h"
#include "host/core/wakeup.h"
#include "host/kubelet/clients.h"
#include "host/rpc/client_calls.h"
#include "host/rpc/client_slot.h"

namespace cardcage {

// For operators.
struct PodsWatchView {
  enum class State : std::uint8_t {
    kAbsent,   // no socket, one that no kubelet serves, or one that does not know the call
    kSyncing,  // receiving the pods that exist already
    kWatching,
    kFailing,  // see error; tries again
  };
  State state = State::kAbsent;
  std::string error;
  std::size_t pods = 0;
};

// [core]
class PodsWatch {
 public:
  struct Listener {
    // A pod has ended or was deleted, or a list of all pods is complete, which may lack one.
    std::function<void()> gone;
    // A pod with claims has not started yet. Repeated with each change of it.
    std::function<void(ComingPod)> coming = [](const ComingPod&) {};
    // A pod that was coming has ended, or is gone.
    std::function<void(const std::string& uid)> left = [](const std::string&) {};
  };
  // `socket` is the path that `clients` dial. `clients` outlives this.
  PodsWatch(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients, std::filesystem::path socket,
            Listener listener, std::uint32_t jitter_seed);

  // Returns after stop().
  Task<void> run();
  void stop() { stopped_.wake(); }

  // Returns an empty text if the UID is not known. Keeps the last complete list until the next one is complete.
  std::string uid_of(const std::string& name_space, const std::string& pod) const;
  // Returns whether the pod's containers have ended for good, though the pod may still exist.
  bool has_ended(const std::string& uid) const;
  // Asks the kubelet itself, which may know of the pod's end before the stream. Returns false if it does not know.
  Task<bool> has_pod(std::string uid, Instant deadline);
  const PodsWatchView& view() const { return view_; }

 private:
  class Stream;
  using State = PodsWatchView::State;
  using PodName = std::pair<std::string, std::string>;  // namespace, name
  struct Pods {
    std::map<PodName, std::string> uids;
    std::map<std::string, bool> ended;  // by UID
  };

  Task<void> watch_forever();
  Task<Status> watch();
  void handle(const api::pods::WatchPodsEvent& event);
  static bool put(Pods& pods, const api::core::Pod& pod);
  static bool remove(Pods& pods, const api::core::Pod& pod);
  void tell_claims(const api::core::Pod& pod) const;
  void adopt_list();
  void show(State state, std::string error);

  asio::io_context& core_;
  Clock& clock_;
  ClientSlot<KubeletClients>& clients_;
  const std::filesystem::path socket_;
  const Listener listener_;
  Backoff retry_;
  Wakeup stopped_;
  Pods pods_, listing_;  // listing_: until the list is complete
  PodsWatchView view_;
  ClientCalls calls_;  // last, so that its calls end before the other members do
};

}  // namespace cardcage
