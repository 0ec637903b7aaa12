// The driver of the node while the module runs. The driver and its GPUs may be missing, be replaced, or stop
// responding.
#pragma once

#include <cardcage/sdk.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "modules/nvidia/gpu_modes.h"
#include "modules/nvidia/inventory.h"
#include "modules/nvidia/node.h"
#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

class Driver {
 public:
  // `divides`: as in take_inventory().
  Driver(Node node, cage::Host host, bool divides) : node_(std::move(node)), host_(host), divides_(divides) {}

  const Node& node() const { return node_; }
  // The result of the last look().
  const Inventory& inventory() const { return inventory_; }
  // The NVML library that was found; nothing before the first look().
  const std::optional<DriverFile>& library_file() const { return file_; }

  // Looks at all GPUs. Closes a replaced library and opens the new one. If the driver does not respond at all, the GPUs
  // of the last look are kept, each with the fault.
  const Inventory& look();
  // The library, opened if it is closed or was replaced. Throws cage::Error if the driver does not respond.
  const nvml::Library& nvml();
  // While one exists, the driver is checked only once, so that a call that uses the library many times sees one driver.
  class OneLook {
   public:
    explicit OneLook(Driver& driver) : driver_(driver) {}
    OneLook(const OneLook&) = delete;
    OneLook& operator=(const OneLook&) = delete;
    ~OneLook() { driver_.once_.reset(); }

   private:
    Driver& driver_;
  };
  [[nodiscard]] OneLook look_once() {
    once_ = false;
    return OneLook(*this);
  }
  // The library if it is open.
  const nvml::Library* opened() const { return library_.get(); }
  // The NVML handle of the GPU. Throws cage::Error.
  nvml::Device handle(const Gpu& gpu);
  // Runs nvidia-smi with the library of the last look.
  SmiRunner smi() const;
  // Adds a callback that runs before the library is closed, for objects that must not outlive it.
  void before_close(std::function<void()> release) { before_close_.push_back(std::move(release)); }
  // Closes every GPU, so that nothing keeps one from being reset, unbound or given another driver.
  void close();
  // Closes one GPU and leaves it alone until it is taken back. All handles die: NVML closes all GPUs or none.
  void release(const std::string& bus_id);
  void take_back(const std::string& bus_id) { released_.erase(bus_id); }
  bool is_released(const std::string& bus_id) const { return released_.contains(bus_id); }
  // Why the last look() failed as a whole; empty if it did not.
  const std::string& fault() const { return fault_; }
  // Whether the kernel module drives a GPU that the last look() did not reach, for example because the files of a
  // driver container came later.
  bool lacks_gpus() const;
  // Counts how often the library was closed: all handles from before are dead.
  unsigned long long generation() const { return generation_; }

 private:
  // Values that change when the driver is replaced.
  struct Identity {
    std::string file, kernel_version;
    unsigned long long inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  Identity identity(const DriverFile& file) const;
  void note_fault(const std::string& fault);

  const Node node_;
  cage::Host host_;
  const bool divides_;
  Inventory inventory_;
  std::optional<DriverFile> file_;
  Identity identity_;  // for the open library
  std::unique_ptr<nvml::Library> library_;
  std::vector<std::function<void()>> before_close_;
  std::optional<bool> once_;        // whether nvml() has checked the driver, while a OneLook exists
  std::set<std::string> released_;  // bus ids
  unsigned long long generation_ = 0;
  std::string fault_;
};

}  // namespace cardcage::nvidia
