#include "modules/nic/claims.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "modules/common/attempts.h"
#include "modules/common/device_variable.h"
#include "modules/common/pci_function.h"
#include "modules/nic/netdev.h"
#include "modules/nic/nic.h"
#include "modules/nic/rdma.h"
#include "modules/nic/rdma_hand_over.h"
#include "modules/nic/settings.h"

namespace cardcage::nic {
namespace {

constexpr std::size_t kMostState = 60'000;  // bytes; the host keeps 64 KiB

// Returns "PCIDEVICE_MY-CORP_COM_SRIOV" for "my-corp.com/sriov": the variable of the SR-IOV network device plugin,
// which programs such as those of DPDK and CNI plugins read.
std::string plugin_variable_of(std::string_view resource) {
  std::string variable = "PCIDEVICE_";
  for (const char c : resource) {
    const bool is_separator = c == '.' || c == '/';
    variable += is_separator ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

std::set<std::string> functions_held_by(const cage::Claim& claim) {
  std::set<std::string> held;
  for (const cage::Allocation& allocation : claim.allocations())
    if (const std::string bus_id = bus_id_of(allocation.device()); !bus_id.empty() && !allocation.admin())
      held.insert(bus_id);
  for (const auto& [device, function] : journal_of(claim).functions) held.insert(function);
  return held;
}

std::vector<KeptInterface> saved_interfaces(const cage::Claim& claim) {
  return interfaces_from(claim.state(), claim.state_version());
}

// Returns nothing after a reboot, since the node then has all interfaces, under new names.
std::vector<KeptInterface> interfaces_in(const cage::Claim& claim) {
  return claim.other_boot() ? std::vector<KeptInterface>() : saved_interfaces(claim);
}

// Returns the leases that a plugin may still hold. They outlast a reboot.
std::vector<Lease> leases_in(const cage::Claim& claim, const Journal& journal) {
  std::vector<Lease> leases = journal.leases;
  for (const KeptInterface& kept : saved_interfaces(claim))
    if (kept.lease && std::ranges::find(leases, kept.lease->interface, &Lease::interface) == leases.end())
      leases.push_back(*kept.lease);
  return leases;
}

std::string name_in_pod(const KeptInterface& kept, const Settings& settings) {
  return settings.name.empty() ? kept.netdev.name : settings.name;
}

// Returns the settings of the claim, with what an IPAM plugin gave when the claim was prepared.
Settings settings_in_pod(const cage::Allocation& allocation, const KeptInterface& kept) {
  Settings settings = settings_of(allocation);
  if (!kept.lease || works_in_pod(*kept.lease)) return settings;
  LeasedNetwork leased = network_of(*kept.lease);
  std::ranges::move(leased.addresses, std::back_inserter(settings.addresses));
  std::ranges::move(leased.routes, std::back_inserter(settings.routes));
  return settings;
}

std::string state_of(const std::vector<KeptInterface>& interfaces) {
  std::string state = to_state(interfaces);
  if (state.size() > kMostState)
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "the interfaces of the claim have more addresses, routes and neighbours on the node than can be "
                      "kept for their return; remove some, or claim fewer interfaces at a time");
  return state;
}

void require_present(const hardware::Node& node, std::string_view device) {
  const std::string bus_id = bus_id_of(device);
  std::error_code error;
  const std::string name = interface_of(device);
  if (bus_id.empty()
          ? std::filesystem::exists(node.sysfs / "class/net" / name, error) && !has_hardware(node.sysfs, name)
          : hardware::is_present(node.sysfs, bus_id))
    return;
  throw cage::Error(CAGE_NOT_FOUND, "network device '" + std::string(device) +
                                        "' is not on this node any more; delete the claim, or bring the card back");
}

// A function whose interface is in another namespace may be in use there. That may even be the namespace of the node,
// if the daemon is not in it.
void require_at_home(const hardware::Node& node, std::string_view device) {
  const auto interfaces = interfaces_at(hardware::path_of(node.sysfs, bus_id_of(device)));
  if (bus_id_of(device).empty() || !interfaces || !interfaces->empty()) return;
  throw cage::Error(CAGE_UNAVAILABLE, "the interface of device '" + std::string(device) +
                                          "' is in a network namespace that is not the daemon's; it comes back when "
                                          "that ends");
}

// The node may have begun to use the interface after it was offered.
void require_unused(cage::Host host, const NodeLinks& links, std::string_view device, const std::string& interface) {
  const std::string reason = links.reason_to_keep(interface);
  if (reason.empty()) return;
  host.rescan();
  throw cage::Error(CAGE_FAILED_PRECONDITION, "interface '" + interface + "' of device '" + std::string(device) +
                                                  "' stays with the node: " + reason);
}

// Mode Rdma leaves the RDMA device on the node.
void require_shared_rdma(const hardware::Node& node, std::string_view device) {
  const std::string bus_id = bus_id_of(device);
  if (bus_id.empty() || rdma_devices_of(hardware::path_of(node.sysfs, bus_id)).empty() || !is_rdma_exclusive()) return;
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    "mode Rdma leaves device '" + std::string(device) +
                        "' in the node's network namespace, and this node's RDMA devices can be used only in their own "
                        "(rdma system: exclusive); leave the mode out, so that the device moves to the pod");
}

// A program that has one virtual function of a group has them all, and another claim's program could not open the
// group.
void require_own_group(const hardware::Node& node, const std::string& bus_id) {
  if (hardware::physical_function_of(node.sysfs, bus_id).empty()) return;
  for (const std::string& other : hardware::iommu_neighbours_of(node.sysfs, bus_id))
    if (!hardware::physical_function_of(node.sysfs, other).empty())
      throw cage::Error(CAGE_FAILED_PRECONDITION, "virtual function " + bus_id + " shares its IOMMU group with " +
                                                      other + ", so a claim for one gets both; use a slot with ACS");
}

}  // namespace

void Claims::prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) {
  for (const cage::Allocation& allocation : claim.allocations()) require_present(node_, allocation.device());
  std::vector<KeptInterface> interfaces = keep_interfaces(call, claim);
  state_of(interfaces);  // before anything changes
  hold_functions(claim);
  const Journal before = journal_of(claim);
  for (const VfChange& earlier : before.changes) undo(node_, earlier);  // left by an unfinished attempt
  const std::vector<VfChange> changes = plan_changes(claim);
  // The journal keeps the functions that an earlier attempt has bound, since they must be restored, too.
  std::string journal(claim.journal());
  for (const std::string& line : lines_for(claim, changes, interfaces))
    if (!journal.contains(line)) journal += line;
  if (journal != claim.journal()) edits.journal(journal);
  for (const VfChange& change : changes) apply(node_, change);
  give_functions(call, claim);
  for (const VfChange& change : changes) {
    // Bind only once, since a pod may use the function by now.
    if (!change.needs_rebind() || before.bound.contains(change.device)) continue;
    bind_anew(call, change.device, interfaces);
    journal += bound_line(change.device);
    edits.journal(journal);
  }
  lease_addresses(call, claim, before, interfaces);
  for (const cage::Allocation& allocation : claim.allocations())
    add_edits(allocation, claim.resource(), edits.of(allocation));
  for (const cage::Allocation& allocation : claim.allocations()) add_network(allocation, interfaces, edits);
  for (const cage::Allocation& allocation : claim.allocations())
    device_info_.write(claim.resource(), allocation.device(), rdma_of(allocation.device()));
  edits.save(state_of(interfaces));
  lent_.add(std::string(claim.uid()), std::move(interfaces));
}

// A device that cannot be restored does not keep the others. Throws the first error after all were tried.
void Claims::unprepare(const cage::Call& call, const cage::Claim& claim) {
  hardware::Attempts attempts;
  for (const cage::Allocation& allocation : claim.allocations())
    device_info_.remove(claim.resource(), allocation.device());
  const Journal journal = journal_of(claim);
  for (const VfChange& change : journal.changes) attempts.run([&] { undo(node_, change); });
  const std::vector<KeptInterface> interfaces = interfaces_in(claim);
  std::set<std::string> given;  // devices that the claim had exclusively
  for (const KeptInterface& kept : interfaces) given.insert(kept.device);
  for (const auto& [device, function] : journal.functions) given.insert(device);
  for (const KeptInterface& kept : interfaces) attempts.run([&] { take_back_interface(call, claim, kept); });
  for (const std::string& device : given)
    if (!attempts.failed() && is_reset(device)) attempts.run([&] { reset(call, device, interfaces); });
  for (const VfChange& change : journal.changes)
    if (change.needs_rebind() && !attempts.failed() && !(given.contains(change.device) && is_reset(change.device)))
      attempts.run([&] { bind_anew(call, change.device, interfaces); });
  for (const auto& [device, function] : journal.functions)
    attempts.run([&] { passthrough_.take_back(call, device, function); });
  // Last, because a pod may use the addresses until its interface is back.
  for (const Lease& lease : leases_in(claim, journal))
    if (works_in_pod(lease))
      end_lease_in_pod(call, claim, lease);
    else if (!attempts.failed())
      attempts.run([&] { ipam_.remove(call, claim.uid(), lease); });
  if (!claim.journal().empty() || !claim.state().empty()) host_.rescan();
  attempts.finish();
  lent_.remove(std::string(claim.uid()));
  held_.release(std::string(claim.uid()));
}

// A plugin that works in the pod is only tried. Plugins have no command that shows a lease, so the addresses of an
// unfinished attempt are given back first.
void Claims::lease_addresses(const cage::Call& call, const cage::Claim& claim, const Journal& before,
                             std::vector<KeptInterface>& interfaces) const {
  for (KeptInterface& kept : interfaces) {
    if (!kept.lease || !kept.lease->result.empty()) continue;
    if (works_in_pod(*kept.lease)) {
      ipam_.require_plugin(call, *kept.lease);
      continue;
    }
    for (const Lease& earlier : before.leases)
      if (earlier.interface == kept.lease->interface) ipam_.remove(call, claim.uid(), earlier);
    ipam_.add(call, claim.uid(), *kept.lease);
  }
}

// Only logs an error: the lease of a DHCP server is over some time after the interface has left.
void Claims::end_lease_in_pod(const cage::Call& call, const cage::Claim& claim, const Lease& lease) const {
  try {
    ipam_.remove(call, claim.uid(), lease);
  } catch (const cage::Error& error) {
    host_.warn() << error.what();
  }
}

void Claims::take_back_interface(const cage::Call& call, const cage::Claim& claim, const KeptInterface& kept) const {
  if (kept.moved_by_runtime)
    hand_over_.restore_by_function(call, kept, Origin::kPod);
  else
    hand_over_.restore(call, kept, claim.uid());
}

bool Claims::is_reset(const std::string& device) const {
  const std::string bus_id = bus_id_of(device);
  return policy_.resets && !reset_refused_ && !bus_id.empty() &&
         !hardware::physical_function_of(node_.sysfs, bus_id).empty() && function_reset_.can_reset(bus_id);
}

// The driver makes a new interface after the reset. udev may have renamed the old one since the claim was prepared.
void Claims::reset(const cage::Call& call, const std::string& device, const std::vector<KeptInterface>& interfaces) {
  const auto found = std::ranges::find(interfaces, device, &KeptInterface::device);
  std::optional<KeptInterface> kept;
  if (found != interfaces.end()) kept = hand_over_.under_present_name(*found);
  try {
    function_reset_.reset(call, device, bus_id_of(device));
  } catch (const cage::Error& error) {
    if (error.status() != CAGE_PERMISSION_DENIED) throw;
    if (!reset_refused_.exchange(true))
      host_.warn() << "virtual functions are not reset between claims: the key writes allows no driver_override or no "
                      "reset of "
                   << device << "; add both, or set reset_on_release = false";
  }
  if (kept) hand_over_.restore_by_function(call, *kept, Origin::kDriver);
}

// Makes the driver of the function read a change that it reads only when it is bound. A VFIO driver needs no rebind: it
// was bound after the change, and the original driver is bound at the end of the claim.
void Claims::bind_anew(const cage::Call& call, const std::string& device,
                       const std::vector<KeptInterface>& interfaces) const {
  const std::string bus_id = bus_id_of(device), driver = hardware::driver_of(node_.sysfs, bus_id);
  if (driver.empty() || driver == policy_.vfio_driver) return;
  function_reset_.bind_anew(call, device, bus_id);
  const auto kept = std::ranges::find(interfaces, device, &KeptInterface::device);
  if (kept != interfaces.end()) hand_over_.restore_by_function(call, *kept, Origin::kDriver);
}

std::vector<VfChange> Claims::plan_changes(const cage::Claim& claim) const {
  CardReadings cards(node_);
  std::vector<VfChange> changes;
  for (const cage::Allocation& allocation : claim.allocations())
    if (auto change = plan_change(cards, allocation.device(), settings_of(allocation)); change && !allocation.admin())
      changes.push_back(std::move(*change));
  return changes;
}

// Returns the lines of the journal: the changes of the claim, which must be undone.
std::vector<std::string> Claims::lines_for(const cage::Claim& claim, const std::vector<VfChange>& changes,
                                           const std::vector<KeptInterface>& interfaces) const {
  std::vector<std::string> lines;
  for (const VfChange& change : changes) lines.push_back(journal_line(change));
  for (const KeptInterface& kept : interfaces)
    if (kept.lease) lines.push_back(journal_line(*kept.lease));
  for (const cage::Allocation& allocation : claim.allocations()) {
    if (settings_of(allocation).mode != Mode::kVfio) continue;
    const std::string bus_id = bus_id_of(allocation.device());
    if (bus_id.empty())
      throw cage::Error(CAGE_INVALID_ARGUMENT, "mode Vfio is for PCI functions, and interface '" +
                                                   interface_of(allocation.device()) +
                                                   "' is not one; leave the mode out");
    if (allocation.admin())
      throw cage::Error(
          CAGE_INVALID_ARGUMENT,
          "mode Vfio takes the device from its user, and a claim with admin access must not; leave it out");
    require_at_home(node_, allocation.device());
    require_own_group(node_, bus_id);
    const NodeLinks links(policy_.choice);
    for (const Netdev& netdev : netdevs_at(node_.sysfs, hardware::path_of(node_.sysfs, bus_id)))
      require_unused(host_, links, allocation.device(), netdev.name);
    for (const std::string& function : passthrough_.functions_with(bus_id))
      lines.push_back(function_line(allocation.device(), function));
  }
  return lines;
}

// Returns whether the container drives the function. An administrator may have bound it before the claim came.
bool Claims::is_vfio(const cage::Allocation& allocation, const Settings& settings) const {
  const std::string bus_id = bus_id_of(allocation.device());
  return settings.mode == Mode::kVfio ||
         (!bus_id.empty() && hardware::driver_of(node_.sysfs, bus_id) == policy_.vfio_driver);
}

// Notes the functions of the claim. Throws cage::Error if another claim holds one of their IOMMU groups.
void Claims::hold_functions(const cage::Claim& claim) {
  std::set<std::string> functions = functions_held_by(claim), alone;
  for (const cage::Allocation& allocation : claim.allocations()) {
    const std::string bus_id = bus_id_of(allocation.device());
    if (bus_id.empty() || allocation.admin() || !is_vfio(allocation, settings_of(allocation))) continue;
    for (const std::string& neighbour : hardware::iommu_neighbours_of(node_.sysfs, bus_id)) {
      alone.insert(neighbour);
      if (hardware::slot_of(neighbour) == hardware::slot_of(bus_id)) functions.insert(neighbour);
    }
  }
  const auto conflict = held_.hold(std::string(claim.uid()), functions, alone);
  if (!conflict) return;
  throw cage::Error(
      CAGE_FAILED_PRECONDITION,
      "function " + conflict->function + ", of the same IOMMU group, belongs to the claim " + conflict->claim_uid +
          ", and a claim for one holds the whole group; wait for the end of that claim, or use a slot with ACS");
}

void Claims::give_functions(const cage::Call& call, const cage::Claim& claim) const {
  bool changes_drivers = false;
  try {
    for (const cage::Allocation& allocation : claim.allocations()) {
      if (settings_of(allocation).mode != Mode::kVfio) continue;
      changes_drivers = true;
      passthrough_.give(call, allocation.device(), bus_id_of(allocation.device()));
    }
  } catch (...) {
    host_.rescan();
    throw;
  }
  if (changes_drivers) host_.rescan();  // the driver is an attribute of the device
}

std::vector<KeptInterface> Claims::keep_interfaces(const cage::Call& call, const cage::Claim& claim) const {
  if (!claim.resource().empty()) return {};
  const std::vector<KeptInterface> known = interfaces_in(claim);
  std::vector<KeptInterface> interfaces;
  std::set<std::string> names;
  for (const cage::Allocation& allocation : claim.allocations()) {
    const Settings settings = settings_of(allocation);
    if (settings.mode == Mode::kRdma) require_shared_rdma(node_, allocation.device());
    if (settings.mode != Mode::kKernel || allocation.admin()) continue;
    if (settings.moved_by_multus) {  // the plugin has the interface already if the call is repeated
      if (const auto present = read_interface(node_, allocation.device()))
        require_unused(host_, NodeLinks(policy_.choice), allocation.device(), present->netdev.name);
      continue;
    }
    KeptInterface kept = keep_interface(call, allocation, known);
    if (kept.netdev.name.empty()) {
      if (settings.configures_interface() || !settings.mac.empty())
        throw cage::Error(CAGE_FAILED_PRECONDITION,
                          "device '" + kept.device +
                              "' has no interface to configure; bind its driver, or leave the "
                              "fields of the interface out");
      continue;
    }
    const std::string name = name_in_pod(kept, settings);
    if (!names.insert(name).second)
      throw cage::Error(CAGE_INVALID_ARGUMENT, "two interfaces of the claim would be called '" + name +
                                                   "' in the pod; give one of them another interface.name");
    kept.moved_by_runtime = settings.moved_by_runtime;
    if (!settings.ipam_config.empty() && !kept.lease) kept.lease = {.interface = name, .config = settings.ipam_config};
    interfaces.push_back(std::move(kept));
  }
  return interfaces;
}

// States how the interface will appear in the pod.
void Claims::add_network(const cage::Allocation& allocation, const std::vector<KeptInterface>& interfaces,
                         cage::Edits& edits) const {
  const auto kept = std::ranges::find(interfaces, allocation.device(), &KeptInterface::device);
  if (kept == interfaces.end()) return;
  const Settings settings = settings_in_pod(allocation, *kept);
  const std::string name = name_in_pod(*kept, settings);
  cage::NetworkData data{name, {}, settings.mac.empty() ? kept->netdev.mac : settings.mac};
  for (const Address& address : settings.addresses) data.ips.push_back(to_string(address));
  if (settings.inherits)
    for (const std::string& address : inherited(kept->objects).addresses)
      data.ips.push_back(to_string(address_of(address)));
  edits.of(allocation).network(data);
  if (kept->moved_by_runtime) edits.of(allocation).net_device(kept->netdev.name, name);
}

// Returns the interface as an earlier prepare found it, because a pod may have it by now. Without a name the device has
// no interface.
KeptInterface Claims::keep_interface(const cage::Call& call, const cage::Allocation& allocation,
                                     const std::vector<KeptInterface>& known) const {
  const std::string device(allocation.device());
  if (const auto before = std::ranges::find(known, device, &KeptInterface::device); before != known.end())
    return *before;
  if (const auto present = interface_on_node(node_, device)) udev_.wait_for_name(call, *present);
  if (auto kept = read_interface(node_, device)) {
    require_unused(host_, NodeLinks(policy_.choice), device, kept->netdev.name);
    kept->rdma = movable_rdma_of(node_, device, kept->netdev);
    return std::move(*kept);
  }
  require_at_home(node_, device);
  KeptInterface none;
  none.device = device;
  return none;
}

void Claims::attach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) const {
  const std::vector<KeptInterface> interfaces = saved_interfaces(claim);
  for (const cage::Allocation& allocation : claim.allocations()) {
    const auto kept = std::ranges::find(interfaces, allocation.device(), &KeptInterface::device);
    if (kept == interfaces.end() || kept->moved_by_runtime) continue;
    LeaseInPod lease;
    if (kept->lease && works_in_pod(*kept->lease))
      lease = [&] { return ipam_.add_in_pod(call, claim.uid(), *kept->lease, pod); };
    hand_over_.attach(*kept, settings_in_pod(allocation, *kept), claim.uid(), pod, lease);
  }
}

// An interface that cannot be taken back does not keep the others. Throws the first error after all were tried.
void Claims::detach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) const {
  hardware::Attempts attempts;
  // First undo the changes at the cards: otherwise a card keeps the address of its function as it is.
  for (const VfChange& change : journal_of(claim).changes) attempts.run([&] { undo(node_, change); });
  for (const KeptInterface& kept : saved_interfaces(claim)) {
    if (kept.lease && works_in_pod(*kept.lease)) end_lease_in_pod(call, claim, *kept.lease);
    attempts.run([&] { hand_over_.detach(kept, claim.uid(), pod); });
  }
  attempts.finish();
}

void Claims::reconcile(const std::vector<cage::Claim>& live) {
  for (const cage::Claim& claim : live) {
    lent_.add(std::string(claim.uid()), interfaces_in(claim));
    held_.hold(std::string(claim.uid()), functions_held_by(claim), {});
  }
  if (!live.empty()) host_.rescan();
}

void Claims::add_edits(const cage::Allocation& allocation, std::string_view resource, cage::Edit edit) const {
  const std::string bus_id = bus_id_of(allocation.device());
  const Settings settings = settings_of(allocation);
  edit.env(hardware::variable_of(name_of(allocation.device())),
           bus_id.empty() ? interface_of(allocation.device()) : bus_id);
  const std::vector<std::filesystem::path> rdma = rdma_of(allocation.device());
  const std::vector<ContainerNode> nodes = nodes_for(allocation, settings, rdma);
  for (const ContainerNode& one : nodes) edit.device_node(one.node);
  if (!bus_id.empty() && !resource.empty()) {
    edit.env_list(plugin_variable_of(resource), bus_id);
    edit.env_list(plugin_variable_of(resource) + "_INFO",
                  plugin_info_of(bus_id, nodes, rdma.empty() ? std::string() : rdma.front().filename().native()));
  }
  // The device-plugin API may have no way to tell it to the runtime.
  if (resource.empty() && settings.locked_memory && std::ranges::any_of(nodes, &ContainerNode::locks_memory))
    edit.locked_memory(*settings.locked_memory);
}

std::vector<ContainerNode> Claims::nodes_for(const cage::Allocation& allocation, const Settings& settings,
                                             const std::vector<std::filesystem::path>& rdma) const {
  const std::string bus_id = bus_id_of(allocation.device());
  std::vector<ContainerNode> nodes;
  const auto add = [&nodes](std::vector<ContainerNode> more) { std::ranges::move(more, std::back_inserter(nodes)); };
  if (settings.vhost_net) add(vhost_container_nodes());
  if (is_vfio(allocation, settings)) {
    std::vector<cage::DeviceNode> given =
        passthrough_.nodes_of(bus_id, {.prefer_iommufd = false, .with_api_device = true});
    add({{"vfio", "dev-mount", std::move(given.front())}, {"vfio", "mount", std::move(given.back())}});
    return nodes;
  }
  add(rdma_container_nodes(node_, rdma));
  if (!bus_id.empty()) add(driver_container_nodes(node_, bus_id));
  return nodes;
}

// RDMA devices in software disappear when their interface goes to a pod.
std::vector<std::filesystem::path> Claims::rdma_of(std::string_view device) const {
  const std::string bus_id = bus_id_of(device);
  std::vector<std::filesystem::path> devices;
  if (!bus_id.empty()) devices = rdma_devices_of(hardware::path_of(node_.sysfs, bus_id));
  if (devices.empty()) devices = lent_.rdma_of(device);  // a pod has the devices
  const SoftRdma soft = soft_rdma(node_.sysfs);
  if (soft.empty()) return devices;
  const auto present = read_interface(node_, device);
  if (const auto its = present ? soft.find(present->netdev.name) : soft.end(); its != soft.end())
    devices.insert(devices.end(), its->second.begin(), its->second.end());
  return devices;
}

}  // namespace cardcage::nic
