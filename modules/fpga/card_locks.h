// Lets one call at a time change a card; calls for other cards run in parallel.
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
  // Frees the card when it is destroyed.
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

  // Waits until no other call has the card of the device. Throws when the call is cancelled or has timed out.
  [[nodiscard]] Hold take(const cage::Call& call, const Identity& device) {
    while (!try_take(device)) {
      call.progress("waiting until card " + device.card + " is ready with another claim");
      call.sleep(kPause);
    }
    return {*this, device.card};
  }
  // Runs the action unless a call has the card; calls wait for its end. Returns whether it ran.
  bool run_if_free(const Identity& device, const std::function<void()>& action) {
    if (!try_take(device)) return false;
    const Hold hold(*this, device.card);
    action();
    return true;
  }
  // Returns whether a call has the card.
  bool is_taken(const std::string& card) {
    const std::lock_guard lock(mutex_);
    return taken_.contains(card);
  }
  // Returns whether a call has the card for this device, or for the whole card that the device is a part of.
  bool is_taken_for(const Identity& device) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(device.card);
    return found != taken_.end() &&
           (found->second == device.id || found->second == device.card || device.id == device.card);
  }

 private:
  static constexpr std::chrono::milliseconds kPause{5};  // programming takes seconds, reading the health a few of these

  bool try_take(const Identity& device) {
    const std::lock_guard lock(mutex_);
    return taken_.emplace(device.card, device.id).second;
  }

  std::mutex mutex_;
  std::map<std::string, std::string> taken_;  // device id by card
};

}  // namespace cardcage::fpga
