// The sinks of one instance for calls that may overlap: as many as it had such calls at the same time. None is freed
// before the instance is, since a module may keep a pointer to it.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace cardcage {

// A sink is made from the module's name and `Shared`.
template <class Sink, class... Shared>
class SinkPool {
 public:
  explicit SinkPool(std::string module, Shared... shared) : making_(std::move(module), shared...) {}

  // [any-thread] An unused sink; give it back after its call.
  Sink& take() {
    const std::lock_guard lock(mutex_);
    if (unused_.empty())
      return std::apply([this](auto&... parts) -> Sink& { return all_.emplace_back(parts...); }, making_);
    Sink& sink = *unused_.back();
    unused_.pop_back();
    return sink;
  }
  void give_back(Sink& sink) {
    const std::lock_guard lock(mutex_);
    unused_.push_back(&sink);
  }

 private:
  std::tuple<const std::string, Shared...> making_;
  std::mutex mutex_;
  std::deque<Sink> all_;
  std::vector<Sink*> unused_;
};

}  // namespace cardcage
