// SPDX-License-Identifier: Apache-2.0
// Cameras and serial ports at USB, by the properties that udev gives them.
//
// Source: udev(7); sd-device(3), for the files in /run/udev/data; Documentation/userspace-api/media/v4l and
// Documentation/ABI/testing/sysfs-tty of the kernel.
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cardcage/sdk.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr const char* kCause = "Node";
constexpr std::size_t kMaxLabel = 63;

struct Kind {
  const char *name, *folder, *variable;
};
constexpr Kind kCamera{"camera", "class/video4linux", "USB_CAMERA"}, kSerial{"serial", "class/tty", "USB_SERIAL"};

using Properties = std::map<std::string, std::string>;

struct Found {
  Kind kind{};
  std::string id, node;  // "ttyUSB0"
  Properties properties;
  unsigned major_number = 0, minor_number = 0;
};

std::string text_in(const fs::path& file) {
  std::ifstream opened(file);
  std::string line;
  std::getline(opened, line);
  return line;
}

// Returns the properties of a device node that udev has described. udev writes "I:" when it is done.
std::optional<Properties> udev_properties(const fs::path& udev, const std::string& numbers) {
  std::ifstream lines(udev / "data" / ("c" + numbers));
  Properties properties;
  bool is_done = false;
  for (std::string line; std::getline(lines, line);) {
    is_done = is_done || line.rfind("I:", 0) == 0;
    if (const std::size_t end = line.find('='); line.rfind("E:", 0) == 0 && end != std::string::npos)
      properties[line.substr(2, end - 2)] = line.substr(end + 1);
  }
  if (!is_done) return std::nullopt;
  return properties;
}

std::string value_of(const Properties& properties, const char* name) {
  const auto found = properties.find(name);
  return found == properties.end() ? std::string() : found->second;
}

// Cameras have a second node for metadata, and both have the kind's folder.
bool is_offered(const Kind& kind, const Properties& properties) {
  if (value_of(properties, "ID_BUS") != "usb") return false;
  return kind.name != kCamera.name ||
         value_of(properties, "ID_V4L_CAPABILITIES").find(":capture:") != std::string::npos;
}

// A device with a serial number is known by it, others by their port. One may have several interfaces.
std::string id_of(const Kind& kind, const Properties& properties) {
  const std::string serial = value_of(properties, "ID_SERIAL_SHORT");
  const std::string place = serial.empty() ? value_of(properties, "ID_PATH_TAG") : serial;
  std::string id = std::string(kind.name) + "-" + value_of(properties, "ID_VENDOR_ID") + "-" +
                   value_of(properties, "ID_MODEL_ID") + "-" + place + "-" +
                   value_of(properties, "ID_USB_INTERFACE_NUM");
  std::replace_if(id.begin(), id.end(), [](unsigned char c) { return std::isgraph(c) == 0; }, '_');
  return id;
}

// Returns the DNS label for an id, or an empty text if it would be too long.
std::string label_of(const std::string& id) {
  std::string label;
  for (const unsigned char c : id) label += std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  return label.size() <= kMaxLabel && label.back() != '-' ? label : std::string();
}

class Usb final : public cage::Module {
 public:
  static constexpr std::string_view id = "dev.cardcage.example.usb", version = "1.0.0", vendor = "Cardcage";
  static constexpr cage::Option declared_options[] = {
      cage::Option::text("udev", "/run/udev", "where udev keeps what it knows of devices")};
  static constexpr cage::Cause declared_causes[] = {{kCause, "the node is gone, or has other numbers than in sysfs"}};
  static constexpr auto declared_uevents = cage::texts("video4linux", "tty");

  Usb(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host), sysfs_(host.sysfs()), devfs_(host.devfs()), udev_(options.text("udev")) {}
  ~Usb() override { close_watch(); }

  // udev describes a device some milliseconds after the kernel's event, and renames a file into this folder then.
  void start(const cage::Call&) override {
    if (!host_.has_poll()) return;
    watch_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch_ < 0)
      throw cage::Error(CAGE_RESOURCE_EXHAUSTED, std::string("cannot watch '") + udev_.string() +
                                                     "': " + std::strerror(errno) +
                                                     "; raise fs.inotify.max_user_instances with sysctl");
    if (::inotify_add_watch(watch_, (udev_ / "data").c_str(), IN_MOVED_TO | IN_DELETE | IN_ONLYDIR) < 0)
      host_.warn() << "cannot watch " << (udev_ / "data").string() << ": " << std::strerror(errno)
                   << "; devices are offered only where udev describes them";
    host_.poll(watch_);
  }
  void stop(const cage::Call&) override { close_watch(); }
  void events(const cage::Call&, const cage::Events&) override {
    alignas(inotify_event) char drained[4096];
    while (watch_ >= 0 && ::read(watch_, drained, sizeof drained) > 0) {
    }
    host_.rescan();
  }

  void discover(const cage::Call&, cage::Snapshot& out) override {
    found_.clear();
    for (const Kind& kind : {kCamera, kSerial}) search(kind);
    std::set<std::string> names;
    for (const auto& [device_id, found] : found_) {
      cage::Device device(device_id, found.kind.name);
      if (const std::string label = label_of(device_id); names.insert(label).second) device.name(label);
      describe(found, device);
      out.add(device.health(health_of(found)));
    }
  }

  void prepare(const cage::Call&, const cage::Claim& claim, cage::Edits& edits) override {
    for (const cage::Allocation& allocation : claim.allocations()) {
      const auto found = found_.find(std::string(allocation.device()));
      const std::string why = found == found_.end() ? "it is unplugged" : flaw_of(found->second);
      if (!why.empty())
        throw cage::Error(CAGE_UNAVAILABLE,
                          "'" + std::string(allocation.device()) + "': " + why + "; plug the device in again");
      cage::DeviceNode node;
      node.path = "/dev/" + found->second.node;
      node.permissions = "rw";
      node.type = "c";
      node.major = found->second.major_number;
      node.minor = found->second.minor_number;
      edits.of(allocation).device_node(node).env_list(found->second.kind.variable, node.path);
    }
  }
  void unprepare(const cage::Call&, const cage::Claim&) override {}  // nothing of a claim stays on the device

  void check(const cage::Call&, std::string_view device) override {
    const auto found = found_.find(std::string(device));
    if (found == found_.end() || !flaw_of(found->second).empty()) host_.rescan();
    if (found != found_.end()) host_.health(device, health_of(found->second));
  }

 private:
  void search(const Kind& kind) {
    std::error_code error;
    std::vector<fs::path> folders;
    for (fs::directory_iterator entry(sysfs_ / kind.folder, error), end; !error && entry != end; entry.increment(error))
      folders.push_back(entry->path());
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) {
      const std::string numbers = text_in(folder / "dev");
      const std::size_t colon = numbers.find(':');
      if (colon == std::string::npos) continue;
      const auto properties = udev_properties(udev_, numbers);
      if (!properties || !is_offered(kind, *properties)) continue;
      Found found{kind, id_of(kind, *properties), folder.filename().string(), *properties, 0, 0};
      found.major_number = static_cast<unsigned>(std::strtoul(numbers.c_str(), nullptr, 10));
      found.minor_number = static_cast<unsigned>(std::strtoul(numbers.c_str() + colon + 1, nullptr, 10));
      // The serial numbers of cheap devices repeat.
      std::string free_id = found.id;
      for (int other = 1; found_.count(free_id) != 0; ++other) free_id = found.id + "-" + std::to_string(other);
      found_.emplace(free_id, std::move(found));
    }
  }

  static void describe(const Found& found, cage::Device& device) {
    constexpr std::pair<const char*, const char*> kAttributes[] = {
        {"vendorId", "ID_VENDOR_ID"}, {"productId", "ID_MODEL_ID"},          {"serial", "ID_SERIAL_SHORT"},
        {"port", "ID_PATH"},          {"interface", "ID_USB_INTERFACE_NUM"}, {"driver", "ID_USB_DRIVER"}};
    device.attribute("kind", found.kind.name).attribute("path", "/dev/" + found.node);
    for (const auto& [name, property] : kAttributes)
      if (const std::string value = value_of(found.properties, property); !value.empty()) device.attribute(name, value);
    const std::string named = value_of(found.properties, "ID_V4L_PRODUCT");
    const std::string product = named.empty() ? value_of(found.properties, "ID_MODEL") : named;
    if (!product.empty()) device.attribute("product", product);
  }

  // Returns what is wrong with the node. It is not opened: that can reset what is behind a serial port.
  std::string flaw_of(const Found& found) const {
    struct stat status{};
    if (::lstat((devfs_ / found.node).c_str(), &status) != 0) return "/dev/" + found.node + " is gone";
    const bool is_same = S_ISCHR(status.st_mode) && major(status.st_rdev) == found.major_number &&
                         minor(status.st_rdev) == found.minor_number;
    return is_same ? "" : "/dev/" + found.node + " is another node than the kernel says";
  }
  cage::Health health_of(const Found& found) const {
    const std::string flaw = flaw_of(found);
    return (flaw.empty() ? cage::Health::ok() : cage::Health::bad("NoNode", flaw)).about(kCause);
  }

  void close_watch() {
    if (watch_ < 0) return;
    try {
      host_.stop_polling(watch_);
    } catch (const cage::Error&) {  // it is closed either way
    }
    ::close(watch_);
    watch_ = -1;
  }

  const cage::Host host_;
  const fs::path sysfs_, devfs_, udev_;
  int watch_ = -1;
  std::map<std::string, Found> found_;  // by the device's id
};

}  // namespace

CARDCAGE_MODULE(Usb)
