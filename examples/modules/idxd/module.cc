// SPDX-License-Identifier: Apache-2.0
// Work queues of Intel's accelerators for copies (DSA) and compression (IAA), which user programs open.
//
// Source: Documentation/ABI/stable/sysfs-driver-dma-idxd and Documentation/driver-api/dmaengine of the kernel.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <cardcage/sdk.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace {

namespace fs = std::filesystem;

constexpr const char* kCause = "Queue";

// The kernel calls the accelerator for compression "iax".
struct Kind {
  const char *name, *variable;
};
constexpr Kind kCopies{"dsa", "DSA_QUEUES"}, kCompression{"iax", "IAX_QUEUES"};

struct Queue {
  Kind kind{};
  fs::path folder, accelerator;  // in sysfs: .../0000:6a:01.0/dsa0/wq0.1, and the folder above it
  std::string name;              // "wq0.1"
  unsigned major_number = 0, minor_number = 0;
  std::string node() const { return std::string(kind.name) + "/" + name; }  // below /dev
  std::string bus_id() const { return accelerator.parent_path().filename().string(); }
};

std::string text_in(const fs::path& file) {
  std::ifstream opened(file);
  std::string line;
  std::getline(opened, line);
  return line;
}

// Returns -1 for a file without a number: older kernels lack some.
std::int64_t number_in(const fs::path& file) {
  const std::string text = text_in(file);
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  return end == text.c_str() ? -1 : number;
}

bool is_shared(const Queue& queue) { return text_in(queue.folder / "mode") == "shared"; }

class Idxd final : public cage::Module {
 public:
  static constexpr std::string_view id = "dev.cardcage.example.idxd", version = "1.0.0", vendor = "Cardcage";
  static constexpr cage::Cause declared_causes[] = {{kCause, "the queue or its accelerator is disabled"}};
  static constexpr auto declared_uevents = cage::texts("dsa");

  Idxd(const cage::Call&, cage::Host host, const cage::Values&)
      : host_(host), sysfs_(host.sysfs()), devfs_(host.devfs()) {}

  // The kernel binds a queue to a driver when it is enabled.
  void events(const cage::Call&, const cage::Events&) override { host_.rescan(); }

  void discover(const cage::Call&, cage::Snapshot& out) override {
    queues_.clear();
    std::error_code error;
    for (fs::directory_iterator entry(sysfs_ / "bus/dsa/devices", error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().filename().string().rfind("wq", 0) == 0) add(entry->path());
    for (const auto& [device_id, queue] : queues_) {
      cage::Device device(device_id, queue.kind.name);
      describe(queue, device);
      out.add(device.health(health_of(queue)));
    }
  }

  void prepare(const cage::Call&, const cage::Claim& claim, cage::Edits& edits) override {
    for (const cage::Allocation& allocation : claim.allocations()) {
      const auto found = queues_.find(std::string(allocation.device()));
      if (found == queues_.end())
        throw cage::Error(CAGE_NOT_FOUND, "'" + std::string(allocation.device()) +
                                              "' is not a queue of this node; configure it with accel-config");
      const Queue& queue = found->second;
      if (const Flaw flaw = flaw_of(queue); flaw.reason != nullptr) throw cage::Error(CAGE_UNAVAILABLE, flaw.text);
      cage::DeviceNode node;
      node.path = "/dev/" + queue.node();
      node.permissions = "rw";
      node.type = "c";
      node.major = queue.major_number;
      node.minor = queue.minor_number;
      edits.of(allocation).device_node(node).env_list(queue.kind.variable, node.path);
    }
  }
  // The kernel drains a queue for a process that closes it.
  void unprepare(const cage::Call&, const cage::Claim&) override {}

  void check(const cage::Call&, std::string_view device) override {
    const auto found = queues_.find(std::string(device));
    if (found == queues_.end()) return host_.rescan();
    host_.health(device, health_of(found->second));
  }

 private:
  struct Flaw {
    const char* reason = nullptr;  // null without a flaw
    std::string text;
  };

  // Queues of the kernel's own users, and those without a purpose, are not offered.
  void add(const fs::path& link) {
    std::error_code error;
    const fs::path folder = fs::canonical(link, error);
    if (error || text_in(folder / "type") != "user") return;
    Queue queue{kCopies, folder, folder.parent_path(), folder.filename().string(), 0, 0};
    if (queue.accelerator.filename().string().rfind(kCompression.name, 0) == 0) queue.kind = kCompression;
    queue.major_number = static_cast<unsigned>(number_in(queue.accelerator / "cdev_major"));
    queue.minor_number = static_cast<unsigned>(number_in(folder / "cdev_minor"));
    // "wq0.1" has the number of the accelerator, which may be another one after a reboot.
    const std::string number = queue.name.substr(queue.name.find('.') + 1);
    queues_.emplace(queue.bus_id() + "-wq" + number, std::move(queue));
  }

  static void describe(const Queue& queue, cage::Device& device) {
    device.pci(queue.bus_id()).attribute("kind", queue.kind.name).attribute("path", "/dev/" + queue.node());
    if (const std::int64_t node = number_in(queue.accelerator / "numa_node"); node >= 0)
      device.numa(static_cast<std::int32_t>(node));
    if (is_shared(queue)) device.shared();
    constexpr std::pair<const char*, const char*> kTexts[] = {
        {"mode", "mode"}, {"name", "name"}, {"driver", "driver_name"}};
    for (const auto& [name, file] : kTexts)
      if (const std::string text = text_in(queue.folder / file); !text.empty()) device.attribute(name, text);
    constexpr std::pair<const char*, const char*> kNumbers[] = {{"group", "group_id"},
                                                                {"size", "size"},
                                                                {"priority", "priority"},
                                                                {"maxBatchSize", "max_batch_size"},
                                                                {"maxTransferSize", "max_transfer_size"}};
    for (const auto& [name, file] : kNumbers)
      if (const std::int64_t number = number_in(queue.folder / file); number >= 0) device.attribute(name, number);
  }

  Flaw flaw_of(const Queue& queue) const {
    const std::string accelerator = queue.accelerator.filename().string(), of_queue = accelerator + "/" + queue.name;
    if (const std::string state = text_in(queue.accelerator / "state"); state != "enabled")
      return {"AcceleratorDisabled", accelerator + " is " + (state.empty() ? "gone" : state) +
                                         "; enable it with 'accel-config enable-device " + accelerator + "'"};
    if (const std::string state = text_in(queue.folder / "state"); state != "enabled")
      return {"QueueDisabled",
              of_queue + " is " + state + "; enable it with 'accel-config enable-wq " + of_queue + "'"};
    if (is_shared(queue) && number_in(queue.accelerator / "pasid_enabled") != 1)
      return {"NoPasid", of_queue + " is shared, and " + accelerator +
                             " has no PASID; start the kernel with intel_iommu=on,sm_on"};
    struct stat status{};
    const bool is_there = ::lstat((devfs_ / queue.node()).c_str(), &status) == 0 && S_ISCHR(status.st_mode) &&
                          major(status.st_rdev) == queue.major_number && minor(status.st_rdev) == queue.minor_number;
    if (!is_there)
      return {"NoNode", "/dev/" + queue.node() + " is not the node of " + of_queue + "; disable and enable it"};
    return {};
  }
  cage::Health health_of(const Queue& queue) const {
    const Flaw flaw = flaw_of(queue);
    return (flaw.reason == nullptr ? cage::Health::ok() : cage::Health::bad(flaw.reason, flaw.text)).about(kCause);
  }

  const cage::Host host_;
  const fs::path sysfs_, devfs_;
  std::map<std::string, Queue> queues_;  // by the device's id
};

}  // namespace

CARDCAGE_MODULE(Idxd)
