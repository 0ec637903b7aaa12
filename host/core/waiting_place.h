// The place of a coroutine among those that wait for the same event.
#pragma once

#include <list>
#include <memory>
#include <utility>

#include "host/core/wakeup.h"

namespace cardcage {

// [core] Keeps a Wakeup in the list while its coroutine waits. May outlive the other owners of the list.
class WaitingPlace {
 public:
  WaitingPlace(std::shared_ptr<std::list<Wakeup>> all, asio::io_context& core)
      : all_(std::move(all)), entry_(all_->emplace(all_->end(), core)) {}
  WaitingPlace(const WaitingPlace&) = delete;
  WaitingPlace& operator=(const WaitingPlace&) = delete;
  ~WaitingPlace() { all_->erase(entry_); }
  Wakeup& operator*() { return *entry_; }

 private:
  const std::shared_ptr<std::list<Wakeup>> all_;
  const std::list<Wakeup>::iterator entry_;
};

}  // namespace cardcage
