// A disk that neither finishes a sync of SQLite nor fails it, while the test wants so.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/unit/ledger/sync_counter.h"

namespace cardcage {

// Make it before the databases are opened.
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
  // Not for ever, so that a test that fails ends.
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
