// Publishes the current set of clients for one peer. Sets are immutable and replaced as a whole.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace cardcage {

// [any-thread] A set that was replaced lives, with its connections, until its last user releases it.
template <class Set>
class ClientSlot {
 public:
  using Address = typename Set::Address;

  explicit ClientSlot(Address address)
      : address_(std::move(address)), current_(std::make_shared<const Set>(address_)) {}

  // Never null. A task gets it once and uses it for all its calls, so that they share connections.
  std::shared_ptr<const Set> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // Replaces `broken` by a new set, once: later callers with the same broken set get that new one.
  std::shared_ptr<const Set> replace(const std::shared_ptr<const Set>& broken) {
    const std::lock_guard lock(mutex_);
    if (current_ == broken) current_ = std::make_shared<const Set>(address_);
    return current_;
  }

 private:
  const Address address_;
  mutable std::mutex mutex_;  // held while a set is copied or created, which does not block
  std::shared_ptr<const Set> current_;
};

}  // namespace cardcage
