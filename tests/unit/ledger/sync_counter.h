// Counts the syncs of SQLite files, for databases that are opened during its life, and calls the test after each sync,
// when the data is certainly on the disk.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <functional>
#include <map>

namespace cardcage {

class SyncCounter {
 public:
  explicit SyncCounter(std::function<void()> after_sync = {}) : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
    count_ = 0;
    after_sync_ = std::move(after_sync);
    real_open_ = real_->xOpen;
    vfs_.zName = "sync-counter";
    vfs_.xOpen = &open;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~SyncCounter() {
    sqlite3_vfs_register(real_, 1);
    sqlite3_vfs_unregister(&vfs_);
  }
  SyncCounter(const SyncCounter&) = delete;
  SyncCounter& operator=(const SyncCounter&) = delete;

  int syncs() const { return count_; }

 private:
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    const int result = real_open_(vfs, name, file, flags, out);
    if (result != SQLITE_OK || file->pMethods == nullptr) return result;
    auto& methods = methods_.try_emplace(file->pMethods, *file->pMethods).first->second;
    real_sync_ = file->pMethods->xSync;
    methods.xSync = &sync;
    file->pMethods = &methods;
    return result;
  }
  static int sync(sqlite3_file* file, int flags) {
    ++count_;
    const int result = real_sync_(file, flags);
    if (after_sync_) after_sync_();
    return result;
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  // Static, because SQLite's callbacks have no user pointer. Databases and logs differ in methods, but sync alike.
  static inline std::atomic<int> count_ = 0;
  static inline std::function<void()> after_sync_;
  static inline std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;
  static inline int (*real_open_)(sqlite3_vfs*, const char*, sqlite3_file*, int, int*);
  static inline int (*real_sync_)(sqlite3_file*, int);
};

}  // namespace cardcage
