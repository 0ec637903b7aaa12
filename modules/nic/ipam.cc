#include "modules/nic/ipam.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <chrono>

#include "modules/nic/settings.h"

namespace cardcage::nic {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kPluginLimit{20};
constexpr std::size_t kMaxResult = 8 << 10;  // the host keeps 64 KiB with a claim
// The oldest version whose results have today's form; all plugins since 2019 know it.
constexpr std::string_view kCniVersion = "0.4.0";
// Plugins demand the variable, and IPAM plugins do not use it.
constexpr const char* kPluginFolder = "CNI_PATH=/opt/cni/bin";

[[noreturn]] void refuse_config(const std::string& reason) {
  throw cage::Error(CAGE_INVALID_ARGUMENT,
                    std::string(field::kIpamConfig) + ": " + reason +
                        "; write a CNI network configuration: {\"name\": \"storage\", \"ipam\": {\"type\": "
                        "\"host-local\", \"ranges\": [[{\"subnet\": \"10.1.2.0/24\"}]]}}");
}

// Returns the objects of a list; none if there is no such list.
std::vector<json::object> objects_in(const json::object& object, std::string_view name) {
  std::vector<json::object> objects;
  const json::value* value = object.if_contains(name);
  if (const json::array* list = value == nullptr ? nullptr : value->if_array())
    for (const json::value& one : *list)
      if (const json::object* item = one.if_object()) objects.push_back(*item);
  return objects;
}

// Returns an empty text if there is no such member.
std::string text_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

std::uint32_t number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  boost::system::error_code error;
  const auto number = value == nullptr ? 0 : value->to_number<std::uint32_t>(error);
  return error ? 0 : number;
}

// Returns an empty object for other texts.
json::object object_from(std::string_view text) {
  boost::system::error_code error;
  json::value parsed = json::parse(text, error);
  return !error && parsed.is_object() ? std::move(parsed.as_object()) : json::object();
}

// Returns the value of ipam.type; empty if there is none.
std::string plugin_in(const json::object& config) {
  const json::value* ipam = config.if_contains("ipam");
  return ipam != nullptr && ipam->is_object() ? text_in(ipam->as_object(), "type") : std::string();
}

std::string plugin_of(const Lease& lease) { return plugin_in(object_from(lease.config)); }

[[noreturn]] void fail(const Lease& lease, const std::string& reason) {
  throw cage::Error(CAGE_UNAVAILABLE,
                    "the IPAM plugin '" + plugin_of(lease) + "' of interface '" + lease.interface + "' " + reason);
}

// A plugin explains an error in JSON, or, if it is none of CNI's own, as a text.
std::string error_of(const cage::ProgramResult& result) {
  const json::object error = object_from(result.out);
  const std::string message = text_in(error, "msg"), details = text_in(error, "details");
  if (!message.empty()) return message + (details.empty() ? "" : "; " + details);
  return result.err.empty() ? "it printed nothing" : result.err.substr(0, result.err.find('\n'));
}

void require_success(const Lease& lease, const char* what, const cage::ProgramResult& result) {
  if (result.timed_out) fail(lease, std::string(what) + ": it did not end within 20 s");
  if (result.signal != 0) fail(lease, std::string(what) + ": signal " + std::to_string(result.signal) + " ended it");
  if (result.exit_status != 0) fail(lease, std::string(what) + ": " + error_of(result));
}

std::string result_of_add(const Lease& lease, const cage::ProgramResult& result) {
  require_success(lease, "gave no address", result);
  if (result.out.size() > kMaxResult) fail(lease, "printed more than 8 KiB");
  return result.out;
}

Address address_in(const Lease& lease, const json::object& object, const char* name) {
  const std::string text = text_in(object, name);
  const auto address = parse_address(text);
  if (!address) fail(lease, "gave the address '" + text + "', which is not one");
  return *address;
}

// A route without a gateway goes to the gateway of its family.
Route route_in(const Lease& lease, const json::object& object, const std::vector<Address>& gateways) {
  Route route{.destination = address_in(lease, object, "dst"),
              .table = number_in(object, "table"),
              .metric = number_in(object, "priority")};
  if (object.contains("gw")) {
    route.gateway = address_in(lease, object, "gw");
    return route;
  }
  const auto gateway = std::ranges::find(gateways, route.destination.family, &Address::family);
  if (gateway != gateways.end()) route.gateway = *gateway;
  return route;
}

}  // namespace

std::string network_config_from(std::string_view text) {
  json::object config = object_from(text);
  if (config.empty()) refuse_config("it is not a JSON object");
  if (text_in(config, "name").empty()) refuse_config("it has no name");
  const std::string plugin = plugin_in(config);
  if (plugin.empty() || plugin.find('/') != std::string::npos) refuse_config("ipam.type does not name a plugin");
  if (!config.contains("cniVersion")) config["cniVersion"] = kCniVersion;
  return json::serialize(config);
}

bool works_in_pod(const Lease& lease) { return plugin_of(lease) == "dhcp"; }

LeasedNetwork network_of(const Lease& lease) {
  LeasedNetwork network;
  const json::object result = object_from(lease.result);
  std::vector<Address> gateways;
  for (const json::object& ip : objects_in(result, "ips")) {
    network.addresses.push_back(address_in(lease, ip, "address"));
    if (ip.contains("gateway")) gateways.push_back(address_in(lease, ip, "gateway"));
  }
  if (network.addresses.empty()) fail(lease, "gave no address: its result has no 'ips'");
  for (const json::object& route : objects_in(result, "routes"))
    network.routes.push_back(route_in(lease, route, gateways));
  return network;
}

void Ipam::add(const cage::Call& call, std::string_view claim_uid, Lease& lease) const {
  lease.result = result_of_add(lease, run(call, "ADD", claim_uid, lease));
  network_of(lease);
}

void Ipam::require_plugin(const cage::Call& call, const Lease& lease) const {
  require_success(lease, "does not work", run(call, "VERSION", {}, lease));
}

LeasedNetwork Ipam::add_in_pod(const cage::Call& call, std::string_view claim_uid, Lease lease,
                               const cage::Pod& pod) const {
  if (pod.network_namespace_path().empty())
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "the IPAM plugin '" + plugin_of(lease) + "' of interface '" + lease.interface +
                          "' needs the path of the pod's network namespace, which the container runtime has not "
                          "reported; enable NRI in the runtime, and delete the pod");
  remove(call, claim_uid, lease);  // the lease of an earlier sandbox
  lease.result = result_of_add(lease, run(call, "ADD", claim_uid, lease, pod.network_namespace_path()));
  return network_of(lease);
}

void Ipam::remove(const cage::Call& call, std::string_view claim_uid, const Lease& lease) const {
  require_success(lease, "did not take its address back", run(call, "DEL", claim_uid, lease));
}

cage::ProgramResult Ipam::run(const cage::Call& call, const char* command, std::string_view claim_uid,
                              const Lease& lease, std::string_view network) const {
  return host_.run(
      call, {.name = plugin_of(lease),
             .arguments = {},
             .environment = {std::string("CNI_COMMAND=") + command, "CNI_CONTAINERID=" + std::string(claim_uid),
                             "CNI_IFNAME=" + lease.interface, "CNI_NETNS=" + std::string(network), kPluginFolder},
             .limit = kPluginLimit,
             .input = lease.config});
}

}  // namespace cardcage::nic
