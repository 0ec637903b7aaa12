// One call at a time changes a card; calls for other cards go on beside it.
#pragma once

#include <cardcage/sdk.hpp>
#include <mutex>
#include <set>
#include <string>

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

  // Waits until no other call has the card. Throws when the call is over.
  [[nodiscard]] Hold take(const cage::Call& call, const std::string& card) {
    while (!try_take(card)) {
      call.progress("waiting until card " + card + " is programmed for another claim");
      call.sleep(kPause);
    }
    return {*this, card};
  }
  // Whether a call has the card now.
  bool is_taken(const std::string& card) {
    const std::lock_guard lock(mutex_);
    return taken_.contains(card);
  }

 private:
  static constexpr std::chrono::milliseconds kPause{20};  // programming takes seconds

  bool try_take(const std::string& card) {
    const std::lock_guard lock(mutex_);
    return taken_.insert(card).second;
  }

  std::mutex mutex_;
  std::set<std::string> taken_;
};

}  // namespace cardcage::fpga
