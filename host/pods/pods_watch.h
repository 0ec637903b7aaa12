// Follows the pods of the node through the kubelet's Pods API (KEP-4188): on by default since Kubernetes 1.37, off in
// 1.36, absent before. It is optional: it has the UIDs of pods, and tells early that a pod is gone.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "host/core/backoff.h"
#include "host/core/wakeup.h"
#include "host/kubelet/clients.h"
#include "host/rpc/client_slot.h"

namespace cardcage {

// For operators.
struct PodsWatchView {
  enum class State : std::uint8_t {
    kAbsent,   // no socket, or one that does not know the call
    kSyncing,  // receiving the pods that exist already
    kWatching,
    kFailing,  // see error; tries again
  };
  State state = State::kAbsent;
  std::string error;
  std::size_t pods = 0;
};
std::string_view to_string(PodsWatchView::State state);

// [core]
class PodsWatch {
 public:
  // `socket` is where `clients` dial. `clients` outlives this. `gone` is called when a pod has ended or was deleted,
  // and when a list of all pods is complete, because it may lack a pod.
  PodsWatch(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients, std::filesystem::path socket,
            std::function<void()> gone, std::uint32_t jitter_seed);

  // Ends only by cancellation.
  Task<void> run();

  // Empty if it is not known. Remembers the last complete list until the next one is complete.
  std::string uid_of(const std::string& name_space, const std::string& pod) const;
  // Whether the pod's containers have ended for good, though the pod may still exist.
  bool has_ended(const std::string& uid) const;
  const PodsWatchView& view() const { return view_; }

 private:
  class Stream;
  using State = PodsWatchView::State;
  using PodName = std::pair<std::string, std::string>;  // namespace, name
  struct Pods {
    std::map<PodName, std::string> uids;
    std::map<std::string, bool> ended;  // by UID
  };

  Task<Status> watch();
  void handle(const api::pods::WatchPodsEvent& event);
  static bool put(Pods& pods, const api::core::Pod& pod);
  static bool remove(Pods& pods, const api::core::Pod& pod);
  void show(State state, std::string error);

  asio::io_context& core_;
  Clock& clock_;
  ClientSlot<KubeletClients>& clients_;
  const std::filesystem::path socket_;
  const std::function<void()> gone_;
  Backoff retry_;
  Pods pods_, listing_;  // listing_: until the list is complete
  PodsWatchView view_;
};

}  // namespace cardcage
