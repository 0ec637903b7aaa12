#include "host/nri/pod_turns.h"

namespace cardcage {
namespace {

// The kubelet repeats the stop of a pod that hangs; these calls must not block other pods.
constexpr std::size_t kMaxWaitingForPod = 16;
constexpr std::size_t kMaxWork = 4096;  // a node runs hundreds of pods

}  // namespace

bool PodTurns::add(const std::string& uid, Work work) {
  const auto known = waiting_.find(uid);
  const bool idle = known == waiting_.end();
  if (size_ >= kMaxWork || (!idle && known->second.size() >= kMaxWaitingForPod)) return false;
  ++size_;
  waiting_[uid].push_back(std::move(work));
  if (idle) running_.spawn(run(uid));
  return true;
}

Task<void> PodTurns::run(std::string uid) {
  while (true) {
    std::deque<Work>& waiting = waiting_.at(uid);
    if (waiting.empty()) break;
    const Work work = std::move(waiting.front());
    waiting.pop_front();
    co_await work();
    --size_;
  }
  waiting_.erase(uid);
}

}  // namespace cardcage
