// Publishes the current value of something to all its listeners.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace cardcage {

// [core] One writer, any number of listeners. Values are immutable; only the latest one counts.
template <class T>
class Board {
 public:
  using Value = std::shared_ptr<const T>;
  using Listener = std::function<void(const Value&)>;

  // Does nothing if `value` equals the current one.
  void set(T value) {
    if (value == *current_) return;
    current_ = std::make_shared<const T>(std::move(value));
    std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
    // Iterates over copies, since a listener may subscribe others or set the next value.
    const auto now = current_;
    const auto listeners_now = listeners_;
    for (const auto& entry : listeners_now)
      if (const auto listener = entry.lock()) (*listener)(now);
  }
  // Never null; empty at first.
  const Value& current() const { return current_; }
  // Calls `listener` with every new value until the returned token is destroyed.
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
