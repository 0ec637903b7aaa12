#include "modules/nic/kept_interface.h"

#include <net/if.h>

#include <algorithm>
#include <cardcage/sdk.hpp>
#include <charconv>

#include "modules/common/pci_function.h"
#include "modules/nic/nic.h"
#include "modules/nic/sysctls.h"

namespace cardcage::nic {

const std::uint32_t kRestoredFlags = IFF_PROMISC | IFF_ALLMULTI | IFF_NOARP | IFF_MULTICAST;

namespace {

constexpr std::uint64_t kUp = 1, kMovedByRuntime = 2, kHasLease = 4;
// The flags of most interfaces, used where the flags are unknown.
constexpr std::uint32_t kUsualFlags = IFF_MULTICAST;

std::uint64_t flags_of(const KeptInterface& kept) {
  return (kept.netdev.is_up ? kUp : 0) | (kept.moved_by_runtime ? kMovedByRuntime : 0) | (kept.lease ? kHasLease : 0);
}

// Fields end in NUL, which no name and no alias has. Bytes are hexadecimal.
std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  for (; text.size() >= 2; text.remove_prefix(2)) {
    unsigned byte = 0;
    std::from_chars(text.data(), text.data() + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

class Writer {
 public:
  Writer& operator<<(std::string_view field) {
    text_.append(field).push_back('\0');
    return *this;
  }
  Writer& operator<<(std::uint64_t number) { return *this << std::to_string(number); }
  Writer& operator<<(const std::vector<std::string>& fields) {
    *this << fields.size();
    for (const std::string& field : fields) *this << field;
    return *this;
  }
  void add_bytes(const std::vector<std::string>& objects) {
    std::vector<std::string> fields;
    for (const std::string& object : objects) fields.push_back(to_hex(object));
    *this << fields;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  std::string text() {
    const auto end = rest_.find('\0');
    if (end == std::string_view::npos)
      throw cage::Error(CAGE_DATA_LOSS, "the state that this module saved with the claim cannot be read");
    std::string field(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return field;
  }
  std::uint64_t number() {
    const std::string field = text();
    std::uint64_t value = 0;
    std::from_chars(field.data(), field.data() + field.size(), value);
    return value;
  }
  std::vector<std::string> list() {
    std::vector<std::string> fields;
    for (auto count = number(); count > 0; --count) fields.push_back(text());
    return fields;
  }
  std::vector<std::string> bytes() {
    std::vector<std::string> objects = list();
    for (std::string& object : objects) object = from_hex(object);
    return objects;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<Netdev> interface_on_node(const hardware::Node& node, std::string_view device) {
  const std::string bus_id = bus_id_of(device);
  if (bus_id.empty()) {
    const std::string name = interface_of(device);
    return has_hardware(node.sysfs, name) ? std::nullopt : read_netdev(node.sysfs, name);
  }
  std::vector<Netdev> netdevs = netdevs_at(node.sysfs, hardware::path_of(node.sysfs, bus_id));
  const auto is_it = [&](const Netdev& netdev) {
    return device == bus_id || device.ends_with("/port-" + std::to_string(netdev.port));
  };
  const auto found = std::ranges::find_if(netdevs, is_it);
  return found == netdevs.end() ? std::nullopt : std::optional(std::move(*found));
}

std::optional<KeptInterface> read_interface(const hardware::Node& node, std::string_view device) {
  auto netdev = interface_on_node(node, device);
  if (!netdev) return std::nullopt;
  KeptInterface kept;
  kept.device = device;
  kept.netdev = std::move(*netdev);
  kept.flags = kUsualFlags;
  NetlinkSocket socket;
  if (auto link = link_of(socket, kept.netdev, bus_id_of(device))) {
    if (link->index < kFirstIndexInPods) kept.index = link->index;
    kept.xdp_modes = link->xdp_modes;
    kept.alternative_names = std::move(link->alternative_names);
    kept.flags = link->flags & kRestoredFlags;
    kept.segments = link->segments;
    kept.objects = read_objects(socket, link->index);
    kept.sysctls = read_sysctls(node.procfs, link->name);
  }
  return kept;
}

std::optional<Link> link_of(NetlinkSocket& node, const Netdev& netdev, const std::string& bus_id) {
  auto link = read_link(node, netdev.name);
  if (link && !link->pci_function.empty() && link->pci_function != bus_id) return std::nullopt;
  return link;
}

std::optional<Link> find_on_node(NetlinkSocket& socket, const hardware::Node& node, const KeptInterface& kept) {
  const std::string bus_id = bus_id_of(kept.device);
  const auto now = interface_on_node(node, kept.device);
  auto link = now ? link_of(socket, *now, bus_id) : std::nullopt;
  if (link && bus_id.empty() && link->mac != kept.netdev.mac) return std::nullopt;
  return link;
}

std::string to_state(const std::vector<KeptInterface>& interfaces) {
  Writer out;
  for (const KeptInterface& kept : interfaces) {
    const Netdev& netdev = kept.netdev;
    out << kept.device << netdev.name << netdev.alias << netdev.mac << netdev.type << netdev.port
        << netdev.mtu.value_or(0) << netdev.speed.value_or(0) << flags_of(kept) << netdev.state << netdev.queue_length
        << kept.index << kept.alternative_names << kept.flags << kept.segments.gso_bytes << kept.segments.gso_segments
        << kept.segments.gro_bytes << kept.segments.gso_ipv4_bytes << kept.segments.gro_ipv4_bytes << kept.xdp_modes;
    for (const auto* objects : {&kept.objects.addresses, &kept.objects.routes, &kept.objects.neighbours})
      out.add_bytes(*objects);
    out << kept.sysctls << kept.rdma.size();
    for (const RdmaDevice& device : kept.rdma) out << device.index << device.name;
    if (kept.lease) out << kept.lease->interface << kept.lease->config << kept.lease->result;
  }
  return out.take();
}

std::vector<KeptInterface> interfaces_from(std::string_view state, std::uint32_t version) {
  std::vector<KeptInterface> interfaces;
  for (Reader in(state); !in.done();) {
    KeptInterface& kept = interfaces.emplace_back();
    kept.device = in.text();
    Netdev& netdev = kept.netdev;
    netdev.name = in.text();
    netdev.alias = in.text();
    netdev.mac = in.text();
    netdev.type = in.number();
    netdev.port = in.number();
    if (const auto mtu = in.number(); mtu != 0) netdev.mtu = mtu;
    if (const auto speed = in.number(); speed != 0) netdev.speed = speed;
    const std::uint64_t flags = in.number();
    netdev.is_up = (flags & kUp) != 0;
    kept.moved_by_runtime = (flags & kMovedByRuntime) != 0;
    netdev.state = in.text();
    netdev.queue_length = in.number();
    if (version == 0) {
      for (const std::string& text : in.list())
        if (const auto address = parse_address(text)) kept.objects.addresses.push_back(object_of(*address));
      kept.flags = kUsualFlags;
      continue;
    }
    const auto number = [&in] { return static_cast<std::uint32_t>(in.number()); };
    kept.index = number();
    kept.alternative_names = in.list();
    kept.flags = number();
    kept.segments = {.gso_bytes = number(),
                     .gso_segments = number(),
                     .gro_bytes = number(),
                     .gso_ipv4_bytes = number(),
                     .gro_ipv4_bytes = number()};
    kept.xdp_modes = number();
    for (auto* objects : {&kept.objects.addresses, &kept.objects.routes, &kept.objects.neighbours})
      *objects = in.bytes();
    kept.sysctls = in.list();
    if (version < 2) continue;
    for (auto count = in.number(); count > 0; --count) {
      const std::uint32_t index = number();
      kept.rdma.push_back({.index = index, .name = in.text()});
    }
    if ((flags & kHasLease) != 0) kept.lease = Lease{.interface = in.text(), .config = in.text(), .result = in.text()};
  }
  return interfaces;
}

}  // namespace cardcage::nic
