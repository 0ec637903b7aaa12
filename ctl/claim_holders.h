// The holders of a claim's devices, for tables.
#pragma once

#include <string>
#include <vector>

#include "cardcage/admin.pb.h"

namespace cardcage {

// A pod that holds a device of a resource, or the claim itself.
struct ClaimHolder {
  std::string name;  // "default/training"; empty until the kubelet reports the pod
  std::string id;    // the kubelet's device id, or the claim's UID
  google::protobuf::Timestamp since;
};
std::vector<ClaimHolder> holders_of(const admin::v1::Claim& claim);

// Returns "gpu-0, gpu-1".
std::string device_names(const admin::v1::Claim& claim);

}  // namespace cardcage
