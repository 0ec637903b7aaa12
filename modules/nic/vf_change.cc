#include "modules/nic/vf_change.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <system_error>
#include <thread>

#include "modules/common/pci_function.h"
#include "modules/nic/kept_interface.h"
#include "modules/nic/netdev.h"
#include "modules/nic/nic.h"

namespace cardcage::nic {
namespace {

constexpr const char* kWord = "vf";      // begins a line
constexpr const char* kGuids = "guids";  // stands before the GUIDs, in lines of a function whose GUIDs change

// Returns the index of the card's interface, which the node keeps while its virtual functions are lent; 0 if there is
// none.
std::uint32_t interface_of_card(NetlinkSocket& socket, const hardware::Node& node, const std::string& bus_id) {
  const std::vector<Netdev> netdevs = netdevs_at(node.sysfs, hardware::path_of(node.sysfs, bus_id));
  const auto link = netdevs.empty() ? std::nullopt : link_of(socket, netdevs.front(), bus_id);
  return link ? link->index : 0;
}

// Returns the number of the device at its card now: its virtual functions may have been recreated.
std::optional<std::uint32_t> number_of(const std::vector<std::string>& functions, std::string_view device) {
  const auto found = std::ranges::find(functions, bus_id_of(device));
  if (found == functions.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - functions.begin());
}
std::optional<std::uint32_t> number_of(const hardware::Node& node, const VfChange& change) {
  return number_of(hardware::virtual_functions_of(node.sysfs, change.card), change.device);
}

VirtualFunction overlaid(VirtualFunction function, const Settings& settings) {
  const VfSettings& vf = settings.vf;
  if (!settings.mac.empty()) function.mac = settings.mac;
  function.vlan = vf.vlan.value_or(function.vlan);
  function.qos = vf.qos.value_or(function.qos);
  function.spoof_check = vf.spoof_check.value_or(function.spoof_check);
  function.trust = vf.trust.value_or(function.trust);
  function.link_state = vf.link_state.value_or(function.link_state);
  function.min_rate = vf.min_rate.value_or(function.min_rate);
  function.max_rate = vf.max_rate.value_or(function.max_rate);
  function.node_guid = vf.node_guid.value_or(function.node_guid);
  function.port_guid = vf.port_guid.value_or(function.port_guid);
  return function;
}

[[noreturn]] void refuse(std::string_view device, const std::string& why) {
  throw cage::Error(CAGE_FAILED_PRECONDITION, "device '" + std::string(device) + "' " + why);
}

// Retries, because a card may be busy for a moment, such as while its driver handles an earlier change.
void set_patiently(NetlinkSocket& socket, std::uint32_t card, std::uint32_t number, VfAttribute attribute,
                   const VirtualFunction& wanted) {
  constexpr int kTries = 20;
  constexpr std::chrono::milliseconds kPause{100};
  for (int left = kTries;; --left) try {
      return set_virtual_function(socket, card, number, attribute, wanted);
    } catch (const std::system_error& error) {
      if (error.code().value() != EBUSY || left <= 1) throw;
      std::this_thread::sleep_for(kPause);
    }
}

// Sets the attributes in order. If the card refuses one, restores the earlier ones in reverse order.
void set_all(NetlinkSocket& socket, std::uint32_t card, std::uint32_t number, const VfChange& change) {
  for (std::size_t i = 0; i < change.attributes.size(); ++i) try {
      set_patiently(socket, card, number, change.attributes[i], change.wanted);
    } catch (const std::system_error& error) {
      for (std::size_t done = i; done-- > 0;)
        set_virtual_function(socket, card, number, change.attributes[done], change.before);
      refuse(change.device, std::string("cannot have ") + name_of(change.attributes[i]) + ": its card responds '" +
                                error.code().message() + "'; leave it out, or choose another card");
    }
}

}  // namespace

bool VfChange::needs_rebind() const {
  return std::ranges::any_of(attributes, [](VfAttribute attribute) {
    return attribute == VfAttribute::kNodeGuid || attribute == VfAttribute::kPortGuid;
  });
}

const CardReadings::Card& CardReadings::at(const std::string& card) {
  const auto [entry, is_new] = cards_.try_emplace(card);
  if (!is_new) return entry->second;
  entry->second.functions = hardware::virtual_functions_of(node_.sysfs, card);
  NetlinkSocket socket;
  if (const std::uint32_t interface = interface_of_card(socket, node_, card); interface != 0)
    entry->second.states = read_virtual_functions(socket, interface);
  return entry->second;
}

std::optional<VfChange> plan_change(CardReadings& cards, std::string_view device, const Settings& settings) {
  const std::string bus_id = bus_id_of(device);
  const std::string card = bus_id.empty() ? std::string() : hardware::physical_function_of(cards.node().sysfs, bus_id);
  if (card.empty()) {
    if (settings.vf.is_given())
      refuse(device, "is not a virtual function, and the fields vf are for those; leave them out");
    if (!settings.mac.empty() && !settings.moves_interface())
      refuse(device, "has no card that could give it a MAC address; leave out interface.mac, or mode and movedBy");
    return std::nullopt;
  }
  if (!settings.vf.is_given() && settings.mac.empty()) return std::nullopt;
  const CardReadings::Card& read = cards.at(card);
  const auto number = number_of(read.functions, device);
  if (!number) refuse(device, "cannot be configured: its card " + card + " does not list it");
  VfChange change{
      .device = std::string(device), .card = card, .number = *number, .attributes = {}, .before = {}, .wanted = {}};
  const auto before = read.states.find(change.number);
  if (before == read.states.end())
    refuse(device, "cannot be configured: its card " + card + " has no interface on the node that knows it");
  change.before = before->second;
  change.wanted = overlaid(change.before, settings);
  for (const VfAttribute attribute : kVfAttributes)
    if (!is_same(attribute, change.before, change.wanted)) change.attributes.push_back(attribute);
  return change.attributes.empty() ? std::nullopt : std::optional(std::move(change));
}

void apply(const hardware::Node& node, const VfChange& change) try {
  NetlinkSocket socket;
  const std::uint32_t interface = interface_of_card(socket, node, change.card);
  if (interface == 0)
    refuse(change.device, "cannot be configured: its card " + change.card + " has no interface on the node");
  const auto number = number_of(node, change);
  if (!number) refuse(change.device, "is not on this node any more");
  set_all(socket, interface, *number, change);
} catch (const std::system_error& error) {
  refuse(change.device, std::string("cannot be configured: ") + error.what());
}

void undo(const hardware::Node& node, const VfChange& change) try {
  NetlinkSocket socket;
  const std::uint32_t interface = interface_of_card(socket, node, change.card);
  const VirtualFunctions all = interface != 0 ? read_virtual_functions(socket, interface) : VirtualFunctions();
  const auto number = number_of(node, change);
  const auto now = number ? all.find(*number) : all.end();
  if (now == all.end()) return;
  for (auto attribute = change.attributes.rbegin(); attribute != change.attributes.rend(); ++attribute)
    if (!is_same(*attribute, now->second, change.before))
      set_patiently(socket, interface, *number, *attribute, change.before);
} catch (const std::system_error& error) {
  throw cage::Error(CAGE_UNAVAILABLE, "device '" + change.device + "' cannot get its settings back: " + error.what());
}

std::string to_line(const VfChange& change) {
  const VirtualFunction& before = change.before;
  std::ostringstream line;
  line << kWord << ' ' << change.device << ' ' << change.card << ' ' << change.number << ' ' << before.mac << ' '
       << before.vlan << ' ' << before.qos << ' ' << before.spoof_check << ' ' << before.trust << ' '
       << before.link_state << ' ' << before.min_rate << ' ' << before.max_rate;
  for (const VfAttribute attribute : change.attributes) line << ' ' << static_cast<int>(attribute);
  if (change.needs_rebind()) line << ' ' << kGuids << ' ' << before.node_guid << ' ' << before.port_guid;
  return line.str();
}

std::optional<VfChange> change_from(const std::string& line) {
  std::istringstream in(line);
  std::string word;
  VfChange change;
  VirtualFunction& before = change.before;
  if (!(in >> word) || word != kWord) return std::nullopt;
  in >> change.device >> change.card >> change.number >> before.mac >> before.vlan >> before.qos >>
      before.spoof_check >> before.trust >> before.link_state >> before.min_rate >> before.max_rate;
  if (!in) return std::nullopt;
  for (int attribute = 0; in >> attribute;) change.attributes.push_back(static_cast<VfAttribute>(attribute));
  in.clear();
  if (in >> word && word == kGuids) in >> before.node_guid >> before.port_guid;
  return change;
}

}  // namespace cardcage::nic
