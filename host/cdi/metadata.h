// Files that describe a claim's devices to the containers that have them (KEP-5304): their names and their content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/model/claim.h"
#include "host/model/claim_status.h"
#include "host/model/device.h"

namespace cardcage {

// The metadata file of one request of a claim. Containers mount it, so it keeps its inode: it is written in place.
struct MetadataFile {
  std::string request;  // base name
  std::string host_path, container_path;
  std::int64_t generation = 0;  // changes with the content; starts at 1
  std::string content;
  friend bool operator==(const MetadataFile&, const MetadataFile&) = default;
};

struct DescribedDevice {
  std::string driver, pool, name;
  Attributes attributes;  // empty if no module describes the device
  std::optional<NetworkData> network;
};

// The path of the file in containers. `pod_claim_name` is empty unless the claim was made from a template.
std::string metadata_container_path(const std::string& driver, const std::string& claim_name,
                                    const std::string& pod_claim_name, const std::string& request);

// A stream of objects with the same content, one for each version of the API, the newest first. `request` is the
// allocation's, "main" or "main/sub".
std::string metadata_stream(const ClaimRef& claim, const std::string& pod_claim_name, std::int64_t generation,
                            const std::string& request, const std::vector<DescribedDevice>& devices);

}  // namespace cardcage
