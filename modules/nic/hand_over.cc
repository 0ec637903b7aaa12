#include "modules/nic/hand_over.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>

#include "modules/common/pci_function.h"
#include "modules/nic/netlink/links.h"
#include "modules/nic/network.h"
#include "modules/nic/nic.h"
#include "modules/nic/rdma_hand_over.h"
#include "modules/nic/restore.h"

namespace cardcage::nic {
namespace {

// The kernel removes a network namespace some time after its last process has ended.
constexpr std::chrono::seconds kReturnLimit{5};
constexpr std::chrono::milliseconds kReturnPollInterval{20};

// The passing name of a moving interface. The kernel chooses the number, so the name is free. A pod sees it until the
// interface gets its own name.
constexpr const char* kPassing = "cage%d";
bool is_passing(std::string_view name) {
  return name.starts_with("cage") && name.size() > 4 &&
         name.substr(4).find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_errno(const std::system_error& error, int number) { return error.code().value() == number; }

void remove_alternative_names(NetlinkSocket& socket, const Link& link) {
  for (const std::string& name : link.alternative_names) remove_alternative_name(socket, link.index, name);
}

// Moves the interface into the pod under a passing name, since its name on one side may be taken on the other.
Link move_in(NetlinkSocket& node, NetlinkSocket& pod, const Link& outside, const Mark& mark, int network_namespace) {
  if (!mark.is_alias(outside.alias)) change_link(node, outside.index, {.alias = mark.alias(outside.name)});
  change_link(node, outside.index, {.is_up = false});
  remove_alternative_names(node, outside);
  if (!is_passing(outside.name)) change_link(node, outside.index, {.name = kPassing});
  change_link(node, outside.index,
              {.name = kPassing, .network_namespace = network_namespace, .new_index = mark.index()});
  auto inside = mark.find_in_pod(pod);
  if (!inside) throw std::system_error(ENODEV, std::generic_category(), "it is not in the pod");
  return std::move(*inside);
}

// Moves the interface out of the pod, with its former index if that is still free. The pod may have changed the alias.
void move_out(NetlinkSocket& pod, NetlinkSocket& node, const Link& inside, const KeptInterface& kept,
              const Mark& mark) {
  const NodeNetwork network;
  if (!mark.is_alias(inside.alias)) change_link(pod, inside.index, {.alias = mark.alias(kept.netdev.name)});
  change_link(pod, inside.index, {.is_up = false});
  remove_alternative_names(pod, inside);
  LinkChange change{.name = kPassing, .network_namespace = network.descriptor()};
  const std::vector<Link> links = read_links(node);
  if (kept.index != 0 && std::ranges::find(links, kept.index, &Link::index) == links.end())
    change.new_index = kept.index;
  change_link(pod, inside.index, change);
}

void require_free(NetlinkSocket& pod, const std::string& name) {
  const auto taker = find_named(pod, name);
  if (!taker) return;
  throw cage::Error(CAGE_ALREADY_EXISTS, taker->name == name
                                             ? "the pod has an interface '" + name +
                                                   "' already; give this one another name with interface.name"
                                             : "interface '" + taker->name + "' of the pod has the alternative name '" +
                                                   name + "'; give this one another name with interface.name");
}

// The address comes last: an interface without one has not been configured completely. Until then no other route leads
// to the gateway.
void add_leased(NetlinkSocket& pod, const Link& link, const LeaseInPod& lease) {
  if (!lease || global_addresses(pod).contains(link.index)) return;
  const LeasedNetwork leased = lease();
  for (Route route : leased.routes) {
    route.is_on_link = route.gateway.has_value();
    add_route(pod, link.index, route);
  }
  for (const Address& address : leased.addresses) add_address(pod, link.index, object_of(address));
}

// A pod may have IPv6 disabled. Then an inherited address is dropped, and an address of the claim is an error.
void add_addresses(cage::Host host, NetlinkSocket& pod, const Link& link, const KeptInterface& kept,
                   const Settings& settings) {
  for (const Address& address : settings.addresses) try {
      add_address(pod, link.index, object_of(address));
    } catch (const std::system_error& error) {
      if (!is_errno(error, EACCES)) throw;
      throw cage::Error(CAGE_FAILED_PRECONDITION,
                        "the pod has IPv6 disabled, so its interface cannot have the address " + to_string(address) +
                            "; remove it from interface.addresses, or the sysctl disable_ipv6 from the pod");
    }
  if (!settings.inherits) return;
  // Log only: a route may need an address that stays on the node, such as one of a router advertisement.
  const auto attempt = [&](const char* what, const auto& step) {
    try {
      step();
    } catch (const std::system_error& error) {
      host.info() << what << " of interface '" << kept.netdev.name << "' does not go to the pod: " << error.what();
    }
  };
  const NetworkObjects objects = inherited(kept.objects);
  for (const std::string& one : objects.addresses) attempt("an address", [&] { add_address(pod, link.index, one); });
  for (const std::string& one : objects.routes) attempt("a route", [&] { add_route(pod, link.index, one); });
  for (const std::string& one : objects.neighbours)
    attempt("a neighbour", [&] { add_neighbour(pod, link.index, one); });
}

// Retries, because the driver of a virtual function may still be handling a setting of its card, or be about to learn
// the address from it.
void set_mac(NetlinkSocket& pod, const Link& link, const std::string& mac) {
  constexpr int kMacTries = 20;
  constexpr std::chrono::milliseconds kPause{100};
  for (int left = kMacTries;; --left) {
    try {
      return change_link(pod, link.index, {.mac = mac});
    } catch (const std::system_error& error) {
      if ((!is_errno(error, EBUSY) && !is_errno(error, EAGAIN)) || left <= 1) throw;
    }
    std::this_thread::sleep_for(kPause);
    const std::vector<Link> links = read_links(pod);
    const auto now = std::ranges::find(links, link.index, &Link::index);
    if (now != links.end() && now->mac == mac) return;
  }
}

void configure(cage::Host host, NetlinkSocket& pod, const Link& link, const KeptInterface& kept,
               const Settings& settings, const LeaseInPod& lease) {
  if (!settings.mac.empty() && link.mac != settings.mac) set_mac(pod, link, settings.mac);
  if (settings.mtu != 0 && link.mtu != settings.mtu) change_link(pod, link.index, {.mtu = settings.mtu});
  if (!link.is_up()) change_link(pod, link.index, {.is_up = true});
  add_leased(pod, link, lease);
  add_addresses(host, pod, link, kept, settings);
  // A gateway may be reachable only by another route of the claim.
  for (const bool has_gateway : {false, true})
    for (const Route& route : settings.routes)
      if (route.gateway.has_value() == has_gateway) add_route(pod, link.index, route);
  for (const Rule& rule : settings.rules) add_rule(pod, rule);
}

// Names the interface in the error of the call.
[[noreturn]] void fail(const KeptInterface& kept, const char* what, const std::system_error& error) {
  throw cage::Error(CAGE_UNAVAILABLE, "interface '" + kept.netdev.name + "' of device '" + kept.device + "' " + what +
                                          ": " + error.what());
}

// Throws cage::Error if the interface is not on the node.
Link must_find_on_node(NetlinkSocket& socket, const hardware::Node& node, const KeptInterface& kept, const Mark& mark) {
  if (auto earlier = mark.find_on_node(socket)) return std::move(*earlier);
  if (auto outside = nic::find_on_node(socket, node, kept)) return std::move(*outside);
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    "interface '" + kept.netdev.name + "' of device '" + kept.device +
                        "' is not on the node: another pod has it, or it was removed" +
                        (read_link(socket, kept.netdev.name) ? "; the one that has its name now is another" : ""));
}

}  // namespace

void HandOver::attach(const KeptInterface& kept, const Settings& settings, std::string_view claim_uid,
                      const cage::Pod& pod, const LeaseInPod& lease) const try {
  NetlinkSocket node, in_pod(pod.route_socket());
  const Mark mark(kept, claim_uid);
  const std::string name = settings.name.empty() ? kept.netdev.name : settings.name;
  try {
    auto inside = mark.find_in_pod(in_pod);
    if (!inside || is_passing(inside->name)) require_free(in_pod, name);
    // Changes of an earlier sandbox of the pod must not reach the next one.
    if (const auto earlier = inside ? std::nullopt : mark.find_on_node(node))
      restore_link(host_, node_, node, *earlier, kept, mark.name_before(*earlier), Refused::kIsLogged);
    if (!inside)
      inside = move_in(node, in_pod, must_find_on_node(node, node_, kept, mark), mark, pod.network_namespace());
    if (is_passing(inside->name)) {
      remove_alternative_names(in_pod, *inside);  // udev may have added one before the move
      change_link(in_pod, inside->index, {.name = name});
    }
    configure(host_, in_pod, *inside, kept, settings, lease);
    give_rdma(host_, node_, kept, pod.network_namespace());  // last, since the kernel then looks for its addresses
  } catch (...) {
    try_to_put_back(kept, mark, in_pod, node, pod.network_namespace());
    throw;
  }
} catch (const std::system_error& error) {
  if (is_errno(error, EPERM)) fail(kept, "cannot be moved, the module needs CAP_NET_ADMIN", error);
  fail(kept, "cannot be moved to the pod", error);
}

void HandOver::detach(const KeptInterface& kept, std::string_view claim_uid, const cage::Pod& pod) const try {
  NetlinkSocket node, in_pod(pod.route_socket());
  const Mark mark(kept, claim_uid);
  if (mark.find_in_pod(in_pod)) put_back(kept, mark, in_pod, node, pod.network_namespace());
} catch (const std::system_error& error) {
  fail(kept, "cannot be taken back from the pod", error);
}

// Only logs an error: restore() tries again when the claim is released.
void HandOver::try_to_put_back(const KeptInterface& kept, const Mark& mark, NetlinkSocket& pod, NetlinkSocket& node,
                               int network_namespace) const {
  try {
    put_back(kept, mark, pod, node, network_namespace);
  } catch (const std::exception& error) {
    host_.warn() << "interface '" << kept.netdev.name << "' is not back on the node: " << error.what();
  }
}

// Puts the interface back from any point at which a move has stopped.
void HandOver::put_back(const KeptInterface& kept, const Mark& mark, NetlinkSocket& pod, NetlinkSocket& node,
                        int network_namespace) const {
  take_back_rdma(host_, kept, network_namespace);
  if (const auto inside = mark.find_in_pod(pod)) move_out(pod, node, *inside, kept, mark);
  if (const auto back = mark.find_on_node(node))
    restore_link(host_, node_, node, *back, kept, mark.name_before(*back), Refused::kFails);
}

void HandOver::restore_by_function(const cage::Call& call, const KeptInterface& before, Origin origin) const try {
  KeptInterface kept = before;
  const std::string bus_id = bus_id_of(kept.device);
  const auto restored_or_gone = [&] {
    NetlinkSocket node;
    if (const auto named = interface_on_node(node_, kept.device)) udev_.wait_for_name(call, *named);
    if (const auto back = find_on_node(node, node_, kept)) {
      // Another interface may have its old name by now.
      const auto taker = find_named(node, kept.netdev.name);
      const bool is_taken = taker && taker->index != back->index;
      if (origin == Origin::kDriver)
        std::ranges::copy(back->alternative_names, std::back_inserter(kept.alternative_names));
      restore_link(host_, node_, node, *back, kept, is_taken ? back->name : kept.netdev.name, Refused::kIsLogged);
      return true;
    }
    return bus_id.empty() || !hardware::is_present(node_.sysfs, bus_id);
  };
  if (!call.wait_for(kReturnLimit, kReturnPollInterval, restored_or_gone))
    throw cage::Error(CAGE_UNAVAILABLE, "interface '" + kept.netdev.name + "' of device '" + kept.device +
                                            "' is not back on the node; it may still be in a network namespace, or its "
                                            "driver did not make it");
} catch (const std::system_error& error) {
  fail(before, "cannot be restored", error);
}

KeptInterface HandOver::under_present_name(KeptInterface kept) const try {
  NetlinkSocket node;
  const auto link = find_on_node(node, node_, kept);
  if (link && (link->index == kept.index || link->index >= kFirstIndexInPods)) kept.netdev.name = link->name;
  return kept;
} catch (const std::system_error& error) {
  fail(kept, "cannot be read", error);
}

void HandOver::restore(const cage::Call& call, const KeptInterface& kept, std::string_view claim_uid) const try {
  NetlinkSocket node;
  const Mark mark(kept, claim_uid);
  const std::string bus_id = bus_id_of(kept.device);
  const auto restored_or_gone = [&] {
    if (const auto back = mark.find_on_node(node))
      return restore_link(host_, node_, node, *back, kept, mark.name_before(*back), Refused::kIsLogged), true;
    // An interface without hardware ends with its namespace, and so does one whose card is gone.
    const bool returns = !bus_id.empty() && interfaces_at(hardware::path_of(node_.sysfs, bus_id));
    return !returns || read_interface(node_, kept.device);
  };
  if (!call.wait_for(kReturnLimit, kReturnPollInterval, restored_or_gone))
    throw cage::Error(CAGE_UNAVAILABLE, "interface '" + kept.netdev.name + "' of device '" + kept.device +
                                            "' is still in a network namespace; it comes back when that ends");
  if (!call.wait_for(kReturnLimit, kReturnPollInterval, [&] { return is_rdma_back(node_, kept); }))
    throw cage::Error(CAGE_UNAVAILABLE, "RDMA device '" + kept.rdma.front().name + "' of device '" + kept.device +
                                            "' is still in a network namespace; it comes back when that ends");
  restore_rdma_names(host_, kept);
} catch (const std::system_error& error) {
  fail(kept, "cannot be restored", error);
}

}  // namespace cardcage::nic
