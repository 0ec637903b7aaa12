// Device nodes of any kind as a module: docs/generic.md.
#include <cardcage/sdk.hpp>

#include <algorithm>
#include <sstream>

#include "modules/common/node.h"
#include "modules/generic/folder_watch.h"
#include "modules/generic/inventory.h"
#include "modules/generic/settings.h"

namespace cardcage::generic {
namespace {

constexpr const char *kNodeCause = "Node", *kShares = "pods";

using HeldNodes = std::map<std::string, std::string>;  // paths of nodes that containers have, by "c 188:0"

void add_text(cage::Device& device, const char* name, const std::string& value) {
  if (!value.empty()) device.attribute(name, value);
}

std::string container_path(const Entry& entry, const DeviceFile& file) {
  if (entry.mount_path.empty()) return file.path;
  return entry.mount_path.ends_with('/') ? entry.mount_path + file.path.substr(file.path.rfind('/') + 1)
                                         : entry.mount_path;
}

void add_variables(const Found& found, cage::Edit& edit) {
  constexpr std::string_view kPath = "{path}";
  const std::string path = container_path(found.entry, found.files.front());
  for (const auto& [name, value] : found.entry.env) {
    const std::size_t place = value.find(kPath);
    if (place == std::string::npos)
      edit.env(name, value);
    else
      edit.env_list(name, value.substr(0, place) + path + value.substr(place + kPath.size()));
  }
}

class Module final : public cage::Module {
 public:
  static constexpr std::string_view id = "dev.cardcage.generic", version = "0.1.0", vendor = "Cardcage";
  static constexpr std::uint32_t state_version = 1;
  static constexpr cage::Option declared_options[] = {
      cage::Option::list("devices", "[]", "tables: name, paths, count and more, as docs/generic.md lists them")
          .range(0, kMaxEntries)
          .objects()
          .live(),
      cage::Option::text("udev", "/run/udev", "where udev keeps what it knows of devices"),
  };
  // A stick that resets itself is away for a few seconds.
  static constexpr cage::Cause declared_causes[] = {{.name = kNodeCause,
                                                     .help = "its node is gone, or another one than containers have",
                                                     .hold_down = std::chrono::seconds(10),
                                                     .taint = cage::Taint::no_execute,
                                                     .taint_key = "generic.cardcage.dev/node"}};

  Module(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host),
        node_{.sysfs = host.sysfs(), .procfs = host.procfs(), .devfs = host.devfs()},
        udev_(options.text("udev")),
        entries_(read_entries(options.list("devices"))) {}

  void start(const cage::Call&) override { folders_.start(); }
  void stop(const cage::Call&) override { folders_.stop(); }
  void configure(const cage::Call&, const cage::Values& options) override {
    entries_ = read_entries(options.list("devices"));
    host_.rescan();
  }
  void discover(const cage::Call&, cage::Snapshot& snapshot) override {
    look();
    for (const Found& found : inventory_.devices) report(found, snapshot);
    for (const auto& [device, nodes] : held_)
      if (inventory_.find(device) == nullptr) report_unplugged(device, nodes, snapshot);
    for (const auto& [name, reason] : inventory_.not_offered)
      snapshot.not_offered(name.substr(0, kMaxNotOfferedName), reason);
  }
  // Folders that cannot be watched have no events.
  void check(const cage::Call&, std::string_view device) override {
    const Found* const found = inventory_.find(device);
    const bool is_same = found != nullptr && std::ranges::all_of(found->files, [&](const DeviceFile& file) {
                           return look_up(node_.devfs, file.path) == file;
                         });
    if (is_same)
      host_.health(device, health_of(*found));
    else
      host_.rescan();
  }
  void events(const cage::Call&, const cage::Events& events) override {
    bool changed = events.lost;
    for (const cage::Event& event : events.all) changed = folders_.take(event) || changed;
    if (changed) host_.rescan();
  }

  void prepare(const cage::Call&, const cage::Claim& claim, cage::Edits& edits) override {
    look();
    std::string state;
    for (const cage::Allocation& allocation : claim.allocations()) {
      const Found* const found = inventory_.find(allocation.device());
      if (found == nullptr) throw cage::Error(CAGE_UNAVAILABLE, why_gone(std::string(allocation.device())));
      cage::Edit edit = edits.of(allocation);
      for (const DeviceFile& file : found->files) {
        edit.device_node({.path = container_path(found->entry, file),
                          .host_path = file.target,
                          .permissions = found->entry.permissions,
                          .type = std::string(1, file.type),
                          .major = file.major_number,
                          .minor = file.minor_number,
                          .mode = found->entry.mode});
        state += found->id + " " + file.numbers() + " " + file.target + "\n";
      }
      add_variables(*found, edit);
    }
    edits.save(state);
    hold(claim.uid(), state);
  }
  // Nothing of a claim stays on a node.
  void unprepare(const cage::Call&, const cage::Claim& claim) override { release(claim.uid()); }
  void reconcile(const cage::Call&, const std::vector<cage::Claim>& live) override {
    claims_.clear();
    for (const cage::Claim& claim : live) claims_[std::string(claim.uid())] = claim.state();
    sum_up();
  }

 private:
  static constexpr std::size_t kMaxNotOfferedName = 63;

  void look() {
    inventory_ = take_inventory(node_, udev_, entries_);
    std::set<std::filesystem::path> folders = inventory_.folders;
    const bool reads_udev = std::ranges::any_of(entries_, [](const Entry& entry) { return !entry.properties.empty(); });
    if (reads_udev) folders.insert(udev_ / "data");
    folders_.watch(folders);
  }

  void hold(std::string_view claim, const std::string& state) {
    claims_[std::string(claim)] = state;
    sum_up();
  }
  void release(std::string_view claim) {
    if (claims_.erase(std::string(claim)) > 0) sum_up();
  }
  // Reads "serial-ttyUSB0 c 188:0 /dev/ttyUSB0" of every claim.
  void sum_up() {
    held_.clear();
    for (const auto& [claim, state] : claims_) {
      std::istringstream lines(state);
      for (std::string device, type, numbers, path; lines >> device >> type >> numbers >> path;)
        held_[device][type + " " + numbers] = path;
    }
  }

  cage::Health health_of(const Found& found) const {
    const auto held = held_.find(found.id);
    if (held == held_.end()) return cage::Health::ok().about(kNodeCause);
    for (const auto& [numbers, path] : held->second) {
      const bool is_there =
          std::ranges::any_of(found.files, [&](const DeviceFile& file) { return file.numbers() == numbers; });
      if (is_there) continue;
      const std::string text = "containers have '" + path + "' as " + numbers + ", which is " +
                               found.files.front().numbers() + " now, '" + found.files.front().target +
                               "'; delete the pod, so that its successor gets the new one";
      // New pods get the new node of a shared device.
      return (found.entry.count > 1 ? cage::Health::degraded("Replaced", text, cage::Taint::inform)
                                    : cage::Health::bad("Replaced", text))
          .about(kNodeCause);
    }
    return cage::Health::ok().about(kNodeCause);
  }

  void report(const Found& found, cage::Snapshot& snapshot) const {
    const DeviceFile& file = found.files.front();
    const Facts& facts = found.facts;
    cage::Device device(found.id, found.entry.name);
    device.name(found.name).attribute("kind", found.entry.name).attribute("path", file.target);
    std::string file_name = file.target.substr(std::string_view("/dev/").size());
    std::ranges::replace(file_name, '/', '_');  // as resources have it: "example.com/{file}"
    device.attribute("file", file_name);
    device.attribute("major", file.major_number).attribute("minor", file.minor_number);
    if (file.path != file.target) device.attribute("link", file.path.substr(file.path.rfind('/') + 1));
    if (found.files.size() > 1) device.attribute("nodes", found.files.size());
    add_text(device, "subsystem", facts.subsystem);
    add_text(device, "driver", facts.driver);
    add_text(device, "usbVendor", facts.usb_vendor);
    add_text(device, "usbProduct", facts.usb_product);
    add_text(device, "usbSerial", facts.usb_serial);
    add_text(device, "usbPort", facts.usb_port);
    add_text(device, "usbInterface", facts.usb_interface);
    add_text(device, "model", facts.model);
    if (facts.numa_node) device.numa(*facts.numa_node);
    add(device.health(health_of(found)), found.id, found.entry.count, snapshot);
  }

  // A pod on the device learns that it is gone, and its claim can wait for it.
  void report_unplugged(const std::string& device_id, const HeldNodes& nodes, cage::Snapshot& snapshot) const {
    const Entry* entry = nullptr;  // the longest name, because "tty-usb-0" may also be of an entry "tty"
    for (const Entry& one : entries_)
      if ((device_id == one.name || device_id.starts_with(one.name + "-")) &&
          (entry == nullptr || one.name.size() > entry->name.size()))
        entry = &one;
    if (entry == nullptr) return;
    cage::Device device(device_id, entry->name);
    device.attribute("kind", entry->name).attribute("path", nodes.begin()->second);
    const auto gone =
        cage::Health::bad("Unplugged", "'" + nodes.begin()->second + "' is gone; plug the device in again");
    add(device.health(gone.about(kNodeCause)), device_id, entry->count, snapshot);
  }

  static void add(cage::Device& device, const std::string& device_id, std::int64_t count, cage::Snapshot& snapshot) {
    if (count > 1) device.shared().capacity(kShares, cage::Quantity::count(count));
    if (!snapshot.add(device) || count == 1) return;
    cage::RequestPolicy one_each;
    one_each.default_amount = cage::Quantity::count(1);
    one_each.values = {cage::Quantity::count(1)};
    snapshot.policy(device_id, kShares, one_each);
  }

  std::string why_gone(const std::string& device) const {
    const auto held = held_.find(device);
    for (const auto& [subject, reason] : inventory_.not_offered)
      if (held != held_.end() && held->second.begin()->second == subject) return "'" + subject + "': " + reason;
    return "device '" + device + "' is gone; plug it in again, or delete the claim to get another one";
  }

  const cage::Host host_;
  const hardware::Node node_;
  const std::filesystem::path udev_;
  std::vector<Entry> entries_;
  Inventory inventory_;
  FolderWatch folders_{host_};
  std::map<std::string, std::string> claims_;  // states, by uid
  std::map<std::string, HeldNodes> held_;      // nodes that containers have, by device
};

}  // namespace
}  // namespace cardcage::generic

CARDCAGE_MODULE(cardcage::generic::Module)
