// A disk on which a sync of SQLite neither finishes nor fails, while the test holds it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/unit/ledger/sync_counter.h"

namespace cardcage {

// Must be made before the databases are opened.
class HangingDisk {
 public:
  void hang() { set(true); }
  void recover() { set(false); }

 private:
  void set(bool hangs) {
    const std::scoped_lock lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }
  // Limited, so that a failed test ends.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(2), [this] { return !hangs_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
  SyncCounter syncs_{[this] { wait(); }};
};

}  // namespace cardcage
