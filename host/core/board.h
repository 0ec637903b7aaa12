// The current value of something, for everybody who passes it on.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace cardcage {

// [core] One writer, any number of listeners; values are immutable and the latest wins.
template <class T>
class Board {
 public:
  using Value = std::shared_ptr<const T>;
  using Listener = std::function<void(const Value&)>;

  // A value equal to the current one is no news.
  void set(T value) {
    if (value == *current_) return;
    current_ = std::make_shared<const T>(std::move(value));
    std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
    // Copies: a listener may subscribe others or set the next value.
    const auto now = current_;
    const auto listeners_now = listeners_;
    for (const auto& entry : listeners_now)
      if (const auto listener = entry.lock()) (*listener)(now);
  }
  // Never null; empty at first.
  const Value& current() const { return current_; }
  // The listener hears of every new value until the returned token is gone.
  [[nodiscard]] std::shared_ptr<const Listener> subscribe(Listener listener) {
    auto token = std::make_shared<const Listener>(std::move(listener));
    listeners_.push_back(token);
    return token;
  }

 private:
  Value current_ = std::make_shared<const T>();
  std::vector<std::weak_ptr<const Listener>> listeners_;
};

}  // namespace cardcage
