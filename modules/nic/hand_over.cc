#include "modules/nic/hand_over.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <system_error>
#include <thread>

#include "modules/common/pci_function.h"
#include "modules/nic/netlink/links.h"
#include "modules/nic/nic.h"

namespace cardcage::nic {
namespace {

// The kernel takes a network namespace down after its last process has ended, and not at once.
constexpr std::chrono::seconds kReturnLimit{5};
constexpr std::chrono::milliseconds kLook{20};

std::string tag_of(std::string_view claim_uid, std::string_view device) {
  return "cardcage claim " + std::string(claim_uid) + " device " + std::string(device);
}

std::optional<Link> find_link(NetlinkSocket& socket, std::string Link::* member, const std::string& value) {
  std::vector<Link> links = read_links(socket);
  const auto found = std::ranges::find(links, value, member);
  return found == links.end() ? std::nullopt : std::optional(std::move(*found));
}

// The module's own: that of the node.
class NodeNetwork {
 public:
  NodeNetwork() : descriptor_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "/proc/thread-self/ns/net");
  }
  NodeNetwork(const NodeNetwork&) = delete;
  NodeNetwork& operator=(const NodeNetwork&) = delete;
  ~NodeNetwork() { ::close(descriptor_); }
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

bool is_errno(const std::system_error& error, int number) { return error.code().value() == number; }

// As it was before, with the alias last: until then it counts as the claim's.
void restore_link(NetlinkSocket& node, const Link& link, const KeptInterface& kept) {
  const Netdev& before = kept.netdev;
  change_link(node, link.index, {.is_up = false});
  LinkChange change;
  if (!before.mac.empty() && link.mac != before.mac) change.mac = before.mac;
  if (before.mtu && link.mtu != *before.mtu) change.mtu = static_cast<std::uint32_t>(*before.mtu);
  if (link.queue_length != before.queue_length) change.queue_length = static_cast<std::uint32_t>(before.queue_length);
  if (link.name != before.name) change.name = before.name;
  change_link(node, link.index, change);
  if (before.is_up) change_link(node, link.index, {.is_up = true});
  for (const std::string& address : kept.addresses)
    if (const auto parsed = parse_address(address)) add_address(node, link.index, *parsed);
  change_link(node, link.index, {.alias = before.alias});
}

// Takes it out of the pod under a name that nobody else has, since the node may have given its own away meanwhile.
void take_back(NetlinkSocket& pod, NetlinkSocket& node, const Link& link, const KeptInterface& kept) {
  const NodeNetwork network;
  change_link(pod, link.index, {.is_up = false});
  const std::string passing = "cage" + std::to_string(link.index);
  change_link(pod, link.index, {.name = passing, .network_namespace = network.descriptor()});
  if (const auto back = find_link(node, &Link::name, passing)) restore_link(node, *back, kept);
}

void configure(NetlinkSocket& pod, const Link& link, const Settings& settings) {
  LinkChange change;
  if (!settings.mac.empty() && link.mac != settings.mac) change.mac = settings.mac;
  if (settings.mtu != 0 && link.mtu != settings.mtu) change.mtu = settings.mtu;
  if (change.mac || change.mtu) change_link(pod, link.index, change);
  if (!link.is_up) change_link(pod, link.index, {.is_up = true});
  for (const Address& address : settings.addresses) add_address(pod, link.index, address);
  for (const Route& route : settings.routes) add_route(pod, link.index, route);
  for (const Rule& rule : settings.rules) add_rule(pod, rule);
}

// Looks until the kernel has done its part, for a moment.
bool becomes_true(const cage::Call& call, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kReturnLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    call.checkpoint();
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

// Which becomes the explanation of the call.
[[noreturn]] void fail(const KeptInterface& kept, const char* what, const std::system_error& error) {
  throw cage::Error(CAGE_UNAVAILABLE, "interface '" + kept.netdev.name + "' of device '" + kept.device + "' " + what +
                                          ": " + error.what());
}

}  // namespace

void HandOver::attach(const KeptInterface& kept, const Settings& settings, std::string_view claim_uid,
                      const cage::Pod& pod) const try {
  NetlinkSocket node, in_pod(pod.route_socket());
  const std::string tag = tag_of(claim_uid, kept.device);
  const std::string name = settings.name.empty() ? kept.netdev.name : settings.name;
  auto inside = find_link(in_pod, &Link::alias, tag);
  if (!inside) {
    auto outside = find_link(node, &Link::alias, tag);  // if an earlier attempt got no further
    if (!outside) outside = find_link(node, &Link::name, kept.netdev.name);
    if (!outside)
      throw cage::Error(CAGE_FAILED_PRECONDITION, "interface '" + kept.netdev.name + "' of device '" + kept.device +
                                                      "' is not on the node: another pod has it, or it was removed");
    if (find_link(in_pod, &Link::name, name))
      throw cage::Error(CAGE_ALREADY_EXISTS, "the pod has an interface '" + name +
                                                 "' already; give this one another name with interface.name");
    change_link(node, outside->index, {.alias = tag});
    change_link(node, outside->index, {.name = name, .network_namespace = pod.network_namespace()});
    inside = find_link(in_pod, &Link::alias, tag);
    if (!inside) throw std::system_error(ENODEV, std::generic_category(), "it is not in the pod");
  }
  try {
    configure(in_pod, *inside, settings);
  } catch (const std::system_error&) {
    take_back(in_pod, node, *inside, kept);
    throw;
  }
} catch (const std::system_error& error) {
  if (is_errno(error, EPERM)) fail(kept, "cannot be moved, the module needs CAP_NET_ADMIN", error);
  fail(kept, "cannot be moved to the pod", error);
}

void HandOver::detach(const KeptInterface& kept, std::string_view claim_uid, const cage::Pod& pod) const try {
  NetlinkSocket in_pod(pod.route_socket());
  const auto inside = find_link(in_pod, &Link::alias, tag_of(claim_uid, kept.device));
  if (!inside) return;
  NetlinkSocket node;
  take_back(in_pod, node, *inside, kept);
} catch (const std::system_error& error) {
  fail(kept, "cannot be taken back from the pod", error);
}

void HandOver::restore_by_function(const cage::Call& call, const KeptInterface& kept) const try {
  const std::string bus_id = bus_id_of(kept.device);
  const auto restored_or_gone = [&] {
    if (const auto back = read_interface(node_, kept.device)) {
      NetlinkSocket node;
      if (const auto link = find_link(node, &Link::name, back->netdev.name))
        return restore_link(node, *link, kept), true;
    }
    return bus_id.empty() || !hardware::is_present(node_.sysfs, bus_id);
  };
  if (!becomes_true(call, restored_or_gone))
    throw cage::Error(CAGE_UNAVAILABLE, "interface '" + kept.netdev.name + "' of device '" + kept.device +
                                            "' is not back on the node; it may still be in a network namespace, or its "
                                            "driver did not make it");
} catch (const std::system_error& error) {
  fail(kept, "cannot be restored", error);
}

void HandOver::restore(const cage::Call& call, const KeptInterface& kept, std::string_view claim_uid) const try {
  NetlinkSocket node;
  const std::string tag = tag_of(claim_uid, kept.device);
  const std::string bus_id = bus_id_of(kept.device);
  const auto restored_or_gone = [&] {
    if (const auto back = find_link(node, &Link::alias, tag)) return restore_link(node, *back, kept), true;
    // One without hardware ends with the namespace that it is in, and so does one whose card is gone.
    const bool returns = !bus_id.empty() && interfaces_at(hardware::path_of(node_.sysfs, bus_id));
    return !returns || read_interface(node_, kept.device);
  };
  if (!becomes_true(call, restored_or_gone))
    throw cage::Error(CAGE_UNAVAILABLE, "interface '" + kept.netdev.name + "' of device '" + kept.device +
                                            "' is still in a network namespace; it comes back when that ends");
} catch (const std::system_error& error) {
  fail(kept, "cannot be restored", error);
}

}  // namespace cardcage::nic
