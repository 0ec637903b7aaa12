// A mounted sysfs with a PCI bus, and a device whose accesses block forever.
//
// Source: Documentation/ABI/testing/sysfs-bus-pci (driver_override, unbind, reset), drivers/base/bus.c (drivers_probe,
// which takes the name of a device and reports success if no driver matches).
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sim/fuse/fuse_server.h"
#include "sim/scratch_folder.h"

namespace cardcage {

class FakeSysfs : private FuseServer::Files {
 public:
  struct Function {
    std::string native;  // the driver that matches its ids
    std::string driver, driver_override;
  };
  FakeSysfs() = default;
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;
  ~FakeSysfs() override = default;  // ends the blocked accesses

  // False if mounting is not possible.
  bool mounted() const { return server_.mounted(); }
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path function(const std::string& address) const { return path() / "bus/pci/devices" / address; }
  // A file with an ioctl that takes 16 bytes: a number, which it increments, and the address of 16 bytes.
  std::filesystem::path card() const { return path() / "devices/card"; }
  static constexpr unsigned long kCardRequest = 0xc0104301;  // _IOWR('C', 1, 16 bytes)

  void add_driver(const std::string& name);
  void remove_driver(const std::string& name);
  // Adds a function, bound to its own driver if that is loaded.
  void add_function(const std::string& address, const std::string& native);
  Function look(const std::string& address) const;
  // The writes, as "path: text" with the path below the root, in order.
  std::vector<std::string> written() const;
  // The files that were opened, as paths below the root, in order.
  std::vector<std::string> opened() const;
  // The bytes that the last ioctl found at the address.
  std::string seen() const;

  // The next write to a file with this name blocks until release().
  void hold(const std::string& name);
  bool holds() const;
  void release();

 private:
  using Reply = FuseServer::Reply;
  struct Held {
    FuseServer::Request request;
    std::string path, text;
  };
  unsigned mode(const std::string& path) override;
  std::string link(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  FuseServer::Answer open(const FuseServer::Request& request, const std::string& path, unsigned flags) override;
  FuseServer::Answer read(const FuseServer::Request& request, const std::string& path) override;
  FuseServer::Answer write(const FuseServer::Request& request, const std::string& path, std::string text) override;
  FuseServer::Answer ioctl(const FuseServer::Request& request, const std::string& path,
                           const FuseServer::Ioctl& call) override;

  // These need the lock.
  unsigned mode_of(const std::string& path) const;
  int write(const std::string& path, std::string text);
  void probe(Function& function) const;

  const ScratchFolder folder_;
  mutable std::mutex mutex_;
  std::set<std::string> drivers_, held_names_;
  std::map<std::string, Function> functions_;
  std::vector<std::string> written_, opened_;
  std::vector<Held> held_;
  std::string seen_;
  FuseServer server_{folder_.path(), "fake-sysfs", *this};
};

}  // namespace cardcage
