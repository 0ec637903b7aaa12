#include "host/kubelet/health_board.h"

namespace cardcage {

void HealthBoard::set(HealthList list) {
  if (list == *current_) return;
  current_ = std::make_shared<const HealthList>(std::move(list));
  std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
  // Copies: a listener may subscribe others or set the next list.
  const auto list_now = current_;
  const auto listeners_now = listeners_;
  for (const auto& entry : listeners_now)
    if (const auto listener = entry.lock()) (*listener)(list_now);
}

std::shared_ptr<const HealthBoard::Listener> HealthBoard::subscribe(Listener listener) {
  auto token = std::make_shared<const Listener>(std::move(listener));
  listeners_.push_back(token);
  return token;
}

}  // namespace cardcage
