// Wakes the module when a file appears in a folder, or leaves it.
//
// Source: inotify(7).
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <map>
#include <set>

namespace cardcage::generic {

class FolderWatch {
 public:
  explicit FolderWatch(cage::Host host) : host_(host) {}
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  ~FolderWatch();

  // For the module's start() and stop(). Start throws cage::Error.
  void start();
  void stop();
  // Replaces the folders. One that cannot be watched is logged, once.
  void watch(const std::set<std::filesystem::path>& folders);
  // For the module's events(), for each event: returns whether something in a folder has changed.
  bool take(const cage::Event& event);

 private:
  cage::Host host_;
  int descriptor_ = -1;
  std::map<std::filesystem::path, int> watched_;
  std::set<std::filesystem::path> failed_;
};

}  // namespace cardcage::generic
