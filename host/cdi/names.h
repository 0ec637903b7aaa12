// Names in the Container Device Interface: a vendor per driver or resource, a class per API, a file per claim, a name
// per device.
//
// Runtimes cache specs by device name, so the CDI device name in a DRA claim carries the claim's UID and is never used
// again for other content. In a resource it is the name of the device and stays the same: the kubelet stores the
// response to Allocate, and the runtime looks the name up whenever the container starts, even after a reboot. The
// vendor starts with "cardcage.", which tells our files from those of others and lets DRA driver names start with a
// digit, as vendors must not (CDI SPEC.md, "kind").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/model/served_name.h"

namespace cardcage {

// "cardcage.gpu.example.com/claim" for the driver "gpu.example.com", "cardcage.example.com_gpu/device" for the resource
// "example.com/gpu".
std::string cdi_kind(const ServedName& served);
// The name that the kubelet hands to the runtime: "cardcage.gpu.example.com/claim=<name>".
std::string cdi_qualified_name(const ServedName& served, std::string_view name);

// "<uid>-<device>" or "<uid>-<device>_<share>". Device names are DNS labels and share ids are UUIDs, so '_'
// separates them unambiguously.
std::string cdi_device_name(std::string_view claim_uid, std::string_view device, std::string_view share_id);
struct CdiDeviceParts {
  std::string device, share_id;
};
std::optional<CdiDeviceParts> parse_cdi_device_name(std::string_view name, std::string_view claim_uid);

// "cardcage.gpu.example.com-claim_<uid>.json", "cardcage.example.com_gpu-device_<uid>.json"
std::string claim_file_name(const ServedName& served, std::string_view claim_uid);
struct ClaimFile {
  ServedName served;
  std::string uid;
  friend bool operator==(const ClaimFile&, const ClaimFile&) = default;
};
// Nothing unless claim_file_name makes exactly this name.
std::optional<ClaimFile> parse_claim_file_name(std::string_view file_name);

// Kubernetes UIDs are UUIDs only by convention, and here they become file names: letters, digits and '-', at most 63.
bool is_claim_uid(std::string_view text);
// CDI SPEC.md: letters, digits and "_-.:", alphanumeric at both ends.
bool is_cdi_device_name(std::string_view text);
// CDI SPEC.md, "vendor/class": both begin with a letter.
bool is_cdi_kind(std::string_view text);

}  // namespace cardcage
