// Where the current set of clients for one peer is published: sets are immutable and replaced whole.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace cardcage {

// [any-thread] Where the current set is published. A set that is no longer current lives until its last user lets go,
// and its connections end with it.
template <class Set>
class ClientSlot {
 public:
  using Address = typename Set::Address;

  explicit ClientSlot(Address address)
      : address_(std::move(address)), current_(std::make_shared<const Set>(address_)) {}

  // Never null. Take it once per task and use all of its stubs: they belong together.
  std::shared_ptr<const Set> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // Puts a new set in the place of `broken`, once: whoever comes later with the same one gets the new one.
  std::shared_ptr<const Set> replace(const std::shared_ptr<const Set>& broken) {
    const std::lock_guard lock(mutex_);
    if (current_ == broken) current_ = std::make_shared<const Set>(address_);
    return current_;
  }

 private:
  const Address address_;
  mutable std::mutex mutex_;  // held for a copy or for making a set, which does not block
  std::shared_ptr<const Set> current_;
};

}  // namespace cardcage
