// A mounted sysfs with a PCI bus, and a device whose accesses block for ever: a file system in user space (fuse(4)),
// so that a write has happened when it returns and a held one waits inside the kernel, where SIGKILL does not reach it.
//
// Source: Documentation/ABI/testing/sysfs-bus-pci (driver_override, unbind, reset), drivers/base/bus.c (drivers_probe,
// which takes the name of a device and reports success if no driver matches).
#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host/core/unique_fd.h"
#include "tests/fakes/scratch_folder.h"

namespace cardcage {

class FakeSysfs {
 public:
  struct Function {
    std::string native;  // the driver that matches its ids
    std::string driver, driver_override;
  };
  FakeSysfs();
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;
  // Ends the accesses that are held.
  ~FakeSysfs();

  // False where nothing can be mounted.
  bool mounted() const { return mounted_; }
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path function(const std::string& address) const { return path() / "bus/pci/devices" / address; }
  // A file with an ioctl that takes 16 bytes: a number, which it increments, and the address of 16 bytes.
  std::filesystem::path card() const { return path() / "devices/card"; }
  static constexpr unsigned long kCardRequest = 0xc0104301;  // _IOWR('C', 1, 16 bytes)

  void add_driver(const std::string& name);
  void remove_driver(const std::string& name);
  // With its own driver, if that is loaded.
  void add_function(const std::string& address, const std::string& native);
  Function look(const std::string& address) const;
  // What was written, as "path: text" below the root, in order.
  std::vector<std::string> written() const;
  // What the last ioctl found at the address.
  std::string seen() const;
  // The files that were opened, as paths below the root, in order.
  std::vector<std::string> opened() const;

  // The next write to a file with this name is not answered until release().
  void hold(const std::string& name);
  bool holds() const;
  void release();

 private:
  struct Held {
    std::uint64_t unique;
    std::string path, text;
  };
  struct Reply {
    int error = 0;
    std::string body;
  };
  void serve();
  void take(std::string_view request);
  std::optional<Reply> respond(std::string_view request);
  Reply look_up(std::uint64_t parent, std::string_view name);
  Reply make_ioctl(std::string_view request, std::string_view body);
  void send(std::uint64_t unique, const Reply& reply) const;
  // The mode of what is at the path, or 0.
  unsigned mode_of(const std::string& path) const;
  std::string link_at(const std::string& path) const;
  int write(const std::string& path, std::string text);
  void probe(Function& function) const;
  std::uint64_t node_of(const std::string& path);

  const ScratchFolder folder_;
  UniqueFd device_, stop_;
  bool mounted_ = false;
  mutable std::mutex mutex_;
  std::set<std::string> drivers_, held_names_;
  std::map<std::string, Function> functions_;
  std::map<std::uint64_t, std::string> nodes_{{1, ""}};
  std::vector<std::string> written_, opened_;
  std::vector<Held> held_;
  std::string seen_;
  std::thread server_;
};

}  // namespace cardcage
