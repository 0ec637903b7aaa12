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

// Between the tag and the name that the interface had when it was moved, if that was not the kept one.
constexpr std::string_view kNamed = " name ";

std::optional<Link> find_tagged(NetlinkSocket& socket, const std::string& tag) {
  std::vector<Link> links = read_links(socket);
  const auto found = std::ranges::find_if(
      links, [&](const Link& link) { return link.alias == tag || link.alias.starts_with(tag + std::string(kNamed)); });
  return found == links.end() ? std::nullopt : std::optional(std::move(*found));
}

// The name that a tagged interface had on the node.
std::string name_before(const Link& link, const std::string& tag, const KeptInterface& kept) {
  return link.alias.size() > tag.size() ? link.alias.substr(tag.size() + kNamed.size()) : kept.netdev.name;
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
void restore_link(NetlinkSocket& node, const Link& link, const KeptInterface& kept, const std::string& name) {
  const Netdev& before = kept.netdev;
  change_link(node, link.index, {.is_up = false});
  LinkChange change;
  if (!before.mac.empty() && link.mac != before.mac) change.mac = before.mac;
  if (before.mtu && link.mtu != *before.mtu) change.mtu = static_cast<std::uint32_t>(*before.mtu);
  if (link.queue_length != before.queue_length) change.queue_length = static_cast<std::uint32_t>(before.queue_length);
  if (link.name != name) change.name = name;
  change_link(node, link.index, change);
  if (before.is_up) change_link(node, link.index, {.is_up = true});
  for (const std::string& address : kept.addresses)
    if (const auto parsed = parse_address(address)) add_address(node, link.index, *parsed);
  change_link(node, link.index, {.alias = before.alias});
}

// Takes it out of the pod under a name that nobody else has, since the node may have given its own away meanwhile.
void take_back(NetlinkSocket& pod, NetlinkSocket& node, const Link& link, const std::string& tag,
               const KeptInterface& kept) {
  const NodeNetwork network;
  change_link(pod, link.index, {.is_up = false});
  const std::string passing = "cage" + std::to_string(link.index);
  change_link(pod, link.index, {.name = passing, .network_namespace = network.descriptor()});
  if (const auto back = find_tagged(node, tag)) restore_link(node, *back, kept, name_before(*back, tag, kept));
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

// Gives the interface the tag, unless an earlier attempt did. Throws cage::Error if it is not on the node.
Link tagged_on_node(NetlinkSocket& socket, const hardware::Node& node, const KeptInterface& kept,
                    const std::string& tag) {
  if (auto earlier = find_tagged(socket, tag)) return std::move(*earlier);
  const auto outside = find_on_node(socket, node, kept);
  if (!outside)
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "interface '" + kept.netdev.name + "' of device '" + kept.device +
                          "' is not on the node: another pod has it, or it was removed" +
                          (read_link(socket, kept.netdev.name) ? "; the one that has its name now is another" : ""));
  const bool was_renamed = outside->name != kept.netdev.name;
  change_link(socket, outside->index, {.alias = was_renamed ? tag + std::string(kNamed) + outside->name : tag});
  return *outside;
}

}  // namespace

void HandOver::attach(const KeptInterface& kept, const Settings& settings, std::string_view claim_uid,
                      const cage::Pod& pod) const try {
  NetlinkSocket node, in_pod(pod.route_socket());
  const std::string tag = tag_of(claim_uid, kept.device);
  const std::string name = settings.name.empty() ? kept.netdev.name : settings.name;
  auto inside = find_tagged(in_pod, tag);
  if (!inside) {
    if (read_link(in_pod, name))
      throw cage::Error(CAGE_ALREADY_EXISTS, "the pod has an interface '" + name +
                                                 "' already; give this one another name with interface.name");
    const Link outside = tagged_on_node(node, node_, kept, tag);
    change_link(node, outside.index, {.name = name, .network_namespace = pod.network_namespace()});
    inside = find_tagged(in_pod, tag);
    if (!inside) throw std::system_error(ENODEV, std::generic_category(), "it is not in the pod");
  }
  try {
    configure(in_pod, *inside, settings);
  } catch (const std::system_error&) {
    take_back(in_pod, node, *inside, tag, kept);
    throw;
  }
} catch (const std::system_error& error) {
  if (is_errno(error, EPERM)) fail(kept, "cannot be moved, the module needs CAP_NET_ADMIN", error);
  fail(kept, "cannot be moved to the pod", error);
}

void HandOver::detach(const KeptInterface& kept, std::string_view claim_uid, const cage::Pod& pod) const try {
  NetlinkSocket in_pod(pod.route_socket());
  const std::string tag = tag_of(claim_uid, kept.device);
  const auto inside = find_tagged(in_pod, tag);
  if (!inside) return;
  NetlinkSocket node;
  take_back(in_pod, node, *inside, tag, kept);
} catch (const std::system_error& error) {
  fail(kept, "cannot be taken back from the pod", error);
}

void HandOver::restore_by_function(const cage::Call& call, const KeptInterface& kept) const try {
  const std::string bus_id = bus_id_of(kept.device);
  const auto restored_or_gone = [&] {
    NetlinkSocket node;
    if (const auto back = find_on_node(node, node_, kept)) {
      // Its old name may be another's by now.
      restore_link(node, *back, kept, read_link(node, kept.netdev.name) ? back->name : kept.netdev.name);
      return true;
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
    if (const auto back = find_tagged(node, tag))
      return restore_link(node, *back, kept, name_before(*back, tag, kept)), true;
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
