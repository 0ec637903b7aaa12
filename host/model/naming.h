// The rules for every name that Kubernetes reads, and the device names that are derived from module ids.
//
// Sources: apimachinery validation (labels, subdomains, qualified names), resource.k8s.io validation (drivers,
// attributes, pools), semver.org 2.0.0.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "host/model/device.h"

namespace cardcage {

inline constexpr std::size_t kMaxDnsLabel = 63;
inline constexpr std::size_t kMaxDnsSubdomain = 253;
inline constexpr std::size_t kMaxAttributeText = 64;  // string and version values

// RFC 1123, lower case: device names, counter sets and counters.
bool is_dns_label(std::string_view text);
bool is_dns_subdomain(std::string_view text);
// A subdomain of at most 63 bytes.
bool is_driver_name(std::string_view text);
// One or more subdomains joined with "/", at most 253 bytes.
bool is_pool_name(std::string_view text);
// An attribute or capacity: "model" or "example.com/model". The name is a C identifier of at most 32 bytes, the
// domain a subdomain of at most 63.
bool is_qualified_name(std::string_view text);
// A taint's key: "example.com/unhealthy" or "unhealthy".
bool is_label_key(std::string_view text);
// A taint's value; may be empty.
bool is_label_value(std::string_view text);
// A label that a module may put on the node: a key with a domain that is not Kubernetes' own.
bool is_module_label(std::string_view text);
// A resource that a device plugin may serve, "example.com/fpga": qualified, outside kubernetes.io, and short enough
// that its quota "requests.example.com/fpga" is a valid name too.
bool is_extended_resource_name(std::string_view text);
// Strict semver 2.0.0 of at most 64 bytes. Its numbers fit in 64 bits, because the scheduler parses them so.
bool is_semver(std::string_view text);
// "0000:3b:00.0" or "10000:e1:00.0", lower case.
bool is_pci_bus_id(std::string_view text);

// Returns the DNS label for a module's device id. It depends on the id alone, so it is as stable as the id. An id that
// is a label stays as it is, and "0000:3b:00.0" becomes "0000-3b-00-0". Any other conversion loses characters, so the
// name ends in a hash of the id: "GPU-7" becomes "gpu-7-" and 8 characters.
std::string device_name(std::string_view id);

// Gives each device without a name a unique one. If two would get the same name, the device with the smaller id gets
// it; names that are already set stay. `devices` is sorted by id, as in a Snapshot.
void assign_names(std::vector<Device>& devices);

}  // namespace cardcage
