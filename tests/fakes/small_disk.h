// File systems that fail on command: a small one to fill up, a read-only one and one that is mounted noexec.
//
// They are tmpfs mounts, which need privileges: tests check works() and skip themselves without them.
#pragma once

#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cardcage {

class Mounted {
 public:
  Mounted(std::filesystem::path path, const char* options, unsigned long flags = 0) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    works_ = ::mount("tmpfs", path_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | flags, options) == 0;
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  ~Mounted() {
    if (works_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool works() const { return works_; }
  const std::filesystem::path& path() const { return path_; }

 protected:
  std::filesystem::path path_;
  bool works_ = false;
};

class NoExecFolder : public Mounted {
 public:
  explicit NoExecFolder(std::filesystem::path path) : Mounted(std::move(path), "size=64m", MS_NOEXEC) {}
  bool allow() { return ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT, nullptr) == 0; }
};

class SmallDisk : public Mounted {
 public:
  explicit SmallDisk(std::filesystem::path path, const char* options = "size=256k")
      : Mounted(std::move(path), options) {}
  // Takes up all remaining space.
  void fill() {
    std::ofstream file(path_ / "filler", std::ios::app);
    const std::string block(1024, 'f');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void free() { std::filesystem::remove(path_ / "filler"); }
};

class ReadOnlyFolder : public Mounted {
 public:
  explicit ReadOnlyFolder(std::filesystem::path path) : Mounted(std::move(path), "size=64k") {
    if (works_) works_ = ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    if (!works_ && ::geteuid() != 0) {
      std::filesystem::permissions(path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
      limited_ = true;
    }
  }
  ~ReadOnlyFolder() {
    if (limited_) std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  bool works() const { return works_ || limited_; }

 private:
  bool limited_ = false;
};

}  // namespace cardcage
