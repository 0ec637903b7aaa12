// One call at a time changes a card; calls for other cards go on beside it.
#pragma once

#include <cardcage/sdk.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "modules/fpga/target.h"

namespace cardcage::fpga {

class CardLocks {
 public:
  // Frees the card at its end.
  class Hold {
   public:
    Hold(CardLocks& locks, std::string card) : locks_(locks), card_(std::move(card)) {}
    Hold(const Hold&) = delete;
    ~Hold() {
      const std::lock_guard lock(locks_.mutex_);
      locks_.taken_.erase(card_);
    }

   private:
    CardLocks& locks_;
    const std::string card_;
  };

  // Waits until no other call has the card of the device. Throws when the call is over.
  [[nodiscard]] Hold take(const cage::Call& call, const Identity& device) {
    while (!try_take(device)) {
      call.progress("waiting until card " + device.card + " is ready with another claim");
      call.sleep(kPause);
    }
    return {*this, device.card};
  }
  // Does it unless a call has the card, which waits meanwhile. Returns whether it was done.
  bool run_if_free(const Identity& device, const std::function<void()>& action) {
    if (!try_take(device)) return false;
    const Hold hold(*this, device.card);
    action();
    return true;
  }
  // Whether a call has the card now.
  bool is_taken(const std::string& card) {
    const std::lock_guard lock(mutex_);
    return taken_.contains(card);
  }
  // Whether it has it for this device, or for one that this is a part of.
  bool is_taken_for(const Identity& device) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(device.card);
    return found != taken_.end() &&
           (found->second == device.id || found->second == device.card || device.id == device.card);
  }

 private:
  static constexpr std::chrono::milliseconds kPause{
      5};  // programming takes seconds, a look at the health a few of these

  bool try_take(const Identity& device) {
    const std::lock_guard lock(mutex_);
    return taken_.emplace(device.card, device.id).second;
  }

  std::mutex mutex_;
  std::map<std::string, std::string> taken_;  // the id of the device by card
};

}  // namespace cardcage::fpga
