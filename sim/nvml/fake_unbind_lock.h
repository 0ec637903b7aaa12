// /proc/driver/nvidia/gpus/BUS_ID of a GPU that a process may have open: its file unbindLock accepts "1" only while no
// process has the GPU open, and then reads "1" until it gets "0".
//
// Source: nv_procfs_close_unbind_lock and nv_procfs_read_unbind_lock in kernel-open/nvidia/nv-procfs.c.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "host/core/file.h"
#include "sim/fuse/fuse_server.h"

namespace cardcage {

class FakeUnbindLock : private FuseServer::Files {
 public:
  // Mounts over the folder, and still shows its file "information".
  explicit FakeUnbindLock(const std::filesystem::path& folder)
      : information_(read_file(folder / "information", 4096).value()), server_(folder, "unbind-lock", *this) {}

  bool mounted() const { return server_.mounted(); }
  void set_users(int users) { users_ = users; }
  bool locked() const { return locked_; }

 private:
  unsigned mode(const std::string& path) override {
    if (path.empty()) return S_IFDIR | 0755;
    if (path == "information") return S_IFREG | 0444;
    return path == "unbindLock" ? S_IFREG | 0644 : 0;
  }
  std::string link(const std::string&) override { return ""; }
  std::vector<std::string> list(const std::string&) override { return {"information", "unbindLock"}; }
  FuseServer::Answer read(const FuseServer::Request&, const std::string& path) override {
    return FuseServer::Reply{.error = 0, .body = path == "information" ? information_ : locked_ ? "1\n" : "0\n"};
  }
  FuseServer::Answer write(const FuseServer::Request&, const std::string&, std::string text) override {
    if (text.starts_with("1") && users_ == 0) locked_ = true;
    if (text.starts_with("0")) locked_ = false;
    return FuseServer::Reply{};
  }

  const std::string information_;
  std::atomic<int> users_ = 0;
  std::atomic<bool> locked_ = false;
  FuseServer server_;
};

}  // namespace cardcage
