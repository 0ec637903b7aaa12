#include "modules/nic/kept_interface.h"

#include <cardcage/sdk.hpp>

#include <algorithm>
#include <charconv>

#include "modules/common/pci_function.h"
#include "modules/nic/netlink/addresses.h"
#include "modules/nic/nic.h"

namespace cardcage::nic {
namespace {

constexpr std::uint64_t kUp = 1, kMovedByRuntime = 2;

std::uint64_t flags_of(const KeptInterface& kept) {
  return (kept.netdev.is_up ? kUp : 0) | (kept.moved_by_runtime ? kMovedByRuntime : 0);
}

// Fields end in NUL, which no name, alias and address has.
class Writer {
 public:
  Writer& operator<<(std::string_view field) {
    text_.append(field).push_back('\0');
    return *this;
  }
  Writer& operator<<(std::uint64_t number) { return *this << std::to_string(number); }
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
      throw cage::Error(CAGE_DATA_LOSS, "what this module saved with the claim cannot be read");
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
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The one that is no representor, and the device's port if there are several.
std::optional<Netdev> netdev_of(const hardware::Node& node, std::string_view device) {
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

}  // namespace

std::optional<KeptInterface> read_interface(const hardware::Node& node, std::string_view device) {
  auto netdev = netdev_of(node, device);
  if (!netdev) return std::nullopt;
  KeptInterface kept{
      .device = std::string(device), .netdev = std::move(*netdev), .addresses = {}, .moved_by_runtime = false};
  NetlinkSocket socket;
  if (const auto link = link_of(socket, kept.netdev, bus_id_of(device)))
    for (const Address& address : addresses_of(socket, link->index)) kept.addresses.push_back(to_string(address));
  return kept;
}

std::optional<Link> link_of(NetlinkSocket& node, const Netdev& netdev, const std::string& bus_id) {
  auto link = read_link(node, netdev.name);
  if (link && !link->pci_function.empty() && link->pci_function != bus_id) return std::nullopt;
  return link;
}

std::optional<Link> find_on_node(NetlinkSocket& socket, const hardware::Node& node, const KeptInterface& kept) {
  const std::string bus_id = bus_id_of(kept.device);
  const auto now = netdev_of(node, kept.device);
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
        << kept.addresses.size();
    for (const std::string& address : kept.addresses) out << address;
  }
  return out.take();
}

std::vector<KeptInterface> interfaces_from(std::string_view state) {
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
    for (auto count = in.number(); count > 0; --count) kept.addresses.push_back(in.text());
  }
  return interfaces;
}

}  // namespace cardcage::nic
