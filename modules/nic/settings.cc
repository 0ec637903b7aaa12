#include "modules/nic/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "modules/nic/given_values.h"
#include "modules/nic/ipam.h"
#include "modules/nic/route_objects.h"
#include "modules/nic/vf_config.h"

namespace cardcage::nic {
namespace {

[[noreturn]] void refuse(const char* field, std::string_view value, const char* remedy) {
  throw cage::Error(CAGE_INVALID_ARGUMENT,
                    std::string(field) + ": '" + std::string(value) + "' is not understood; " + remedy);
}

// Names that the kernel uses itself, or for which it has no sysctls of an interface.
constexpr std::array<std::string_view, 4> kReserved{"all", "default", "lo", "bonding_masters"};

// Follows the kernel's dev_valid_name(), and also refuses patterns such as eth%d.
bool is_interface_name(std::string_view name) {
  return name != "." && name != ".." && std::ranges::none_of(name, [](unsigned char c) {
           return c == '/' || c == ':' || c == '%' || std::isspace(c) != 0;
         });
}

// Requires a length, since an address without one would mean a single host.
std::optional<Address> parse_with_length(std::string_view text) {
  return text.find('/') == std::string_view::npos ? std::nullopt : parse_address(text);
}

bool is_mac(std::string_view text) {
  constexpr std::size_t kEthernet = 17;
  if (text.size() != kEthernet) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i % 3 == 2 ? text[i] != ':' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  return true;
}

template <class Parsed>
std::vector<Parsed> parse_all(const cage::Values& values, const char* field,
                              std::optional<Parsed> (*parse)(std::string_view), const char* remedy,
                              Parsed (*parse_object)(std::string_view, const std::string&) = nullptr) {
  std::vector<Parsed> all;
  for (const std::string_view item : values.list(field)) {
    if (parse_object != nullptr && is_object(item)) {
      all.push_back(parse_object(item, std::string(field) + "[" + std::to_string(all.size()) + "]"));
      continue;
    }
    auto parsed = parse(item);
    if (!parsed) refuse(field, item, remedy);
    all.push_back(std::move(*parsed));
  }
  return all;
}

Mode mode_of(std::string_view text) {
  if (text == "Vfio") return Mode::kVfio;
  return text == "Rdma" ? Mode::kRdma : Mode::kKernel;
}

// A GUID is written like a MAC address, but has eight bytes. Subnet managers accept neither all zeros nor all ones.
std::optional<std::uint64_t> given_guid(const cage::Values& values, const char* field) {
  constexpr std::size_t kBytes = 8;
  const std::string_view text = values.text(field);
  if (text.empty()) return std::nullopt;
  std::uint64_t guid = 0;
  bool is_good = text.size() == kBytes * 3 - 1;
  for (std::size_t i = 0; is_good && i < kBytes; ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i * 3;
    is_good = std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2 && (i + 1 == kBytes || digits[2] == ':');
    guid = guid << 8 | byte;
  }
  if (!is_good || guid == 0 || guid == UINT64_MAX) refuse(field, text, "write \"00:11:22:33:44:55:66:77\"");
  return guid;
}

VfSettings vf_settings_of(const cage::Values& values) {
  return {.vlan = given_number(values, field::kVlan),
          .qos = given_number(values, field::kVlanQos),
          .link_state = given_link_state(values, field::kLinkState),
          .min_rate = given_number(values, field::kMinTxRate),
          .max_rate = given_number(values, field::kMaxTxRate),
          .spoof_check = given_boolean(values, field::kSpoofCheck),
          .trust = given_boolean(values, field::kTrust),
          .node_guid = given_guid(values, field::kNodeGuid),
          .port_guid = given_guid(values, field::kPortGuid)};
}

std::optional<std::uint64_t> locked_memory_of(const cage::Values& values) {
  const std::int64_t mib = values.integer(field::kLockedMemory);
  if (mib == kUnlimited) return UINT64_MAX;
  return mib == 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(mib) << 20);
}

std::string_view ipam_mode_of(const cage::Values& values) {
  const std::string_view mode = values.text(field::kIpam);
  if (values.boolean(field::kDhcp)) {
    if (values.given(field::kIpam) && mode != "DHCP")
      throw cage::Error(CAGE_INVALID_ARGUMENT,
                        "interface.dhcp: it contradicts ipam.mode: '" + std::string(mode) + "'; leave one of them out");
    return "DHCP";
  }
  return values.given(field::kIpam) || values.list(field::kAddresses).empty() ? mode : "Claim";
}

std::string ipam_config_of(const cage::Values& values) {
  const std::string_view mode = ipam_mode_of(values), config = values.text(field::kIpamConfig);
  if (mode == "DHCP") return std::string(kDhcpConfig);
  if (mode == "Delegate" && config.empty())
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "ipam.mode: 'Delegate' needs ipam.config in the DeviceClass, which names the IPAM plugin");
  return mode == "Delegate" ? network_config_from(config) : std::string();
}

Settings settings_of_nic_config(const cage::Values& values) {
  return {.mode = mode_of(values.text(field::kMode)),
          .vhost_net = values.boolean(field::kVhostNet),
          .moved_by_runtime = values.text(field::kMovedBy) == "Runtime",
          .moved_by_multus = values.text(field::kMovedBy) == "Multus",
          .locked_memory = locked_memory_of(values),
          .name = std::string(values.text(field::kName)),
          .mac = std::string(values.text(field::kMac)),
          .mtu = static_cast<std::uint32_t>(values.integer(field::kMtu)),
          .inherits = ipam_mode_of(values) == "Inherit",
          .ipam_config = ipam_config_of(values),
          .addresses = parse_all<Address>(values, field::kAddresses, parse_with_length,
                                          "write \"10.1.2.3/24\", with the length of its prefix"),
          .routes = parse_all<Route>(
              values, field::kRoutes, parse_route,
              "write \"10.0.0.0/8 via 10.1.2.1\" or \"default via 10.1.2.1 table 100 metric 10\", with a destination "
              "without bits beyond its prefix",
              route_of_object),
          .rules = parse_all<Rule>(values, field::kRules, parse_rule, "write \"from 10.1.2.3 table 100 priority 1000\"",
                                   rule_of_object),
          .vf = vf_settings_of(values)};
}

// Refuses a name that the kernel would refuse only once the interface moves.
void check_name(const std::string& name, const char* name_field) {
  if (!is_interface_name(name)) refuse(name_field, name, "a name has no '/', ':', '%' and no spaces");
  if (std::ranges::find(kReserved, name) != kReserved.end())
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      std::string(name_field) + ": the kernel reserves the name '" + name + "'; choose another one");
}

}  // namespace

Settings settings_of(const cage::Allocation& allocation) {
  if (!allocation.has_params()) return {};
  const cage::Values values = allocation.params();
  if (values.kind() == kVfKind) {
    Settings settings = settings_of_vf_config(values);
    check_name(settings.name, vf_field::kIfName);
    return settings;
  }
  Settings settings = settings_of_nic_config(values);
  check_name(settings.name, field::kName);
  if (!settings.mac.empty() && !is_mac(settings.mac)) refuse(field::kMac, settings.mac, "write \"02:00:00:00:00:01\"");
  if (settings.mtu != 0 && settings.mtu < kMinMtu)
    refuse(field::kMtu, std::to_string(settings.mtu), "an MTU has 68 bytes at least");
  if (settings.mode != Mode::kKernel && settings.configures_interface())
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "the fields of the interface, routes and rules are for mode Kernel, in which the pod gets it");
  if (settings.moved_by_runtime && settings.configures_network())
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "a container runtime moves an interface as it is: leave out interface.movedBy, or the MTU, the "
                      "addresses, routes and rules");
  if (settings.moved_by_multus && settings.configures_interface())
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "a CNI plugin names and configures the interface: leave out interface.movedBy, or the name, the "
                      "MTU, the addresses, routes and rules");
  return settings;
}

}  // namespace cardcage::nic
