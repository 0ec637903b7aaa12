// Objects of a cluster with ComputeDomains, as users, the scheduler and daemons write them.
#pragma once

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>

#include "tests/unit/fleet/fleet_objects.h"

namespace cardcage {

// The example of NVIDIA's documentation, as the API server stores it.
inline boost::json::object domain_object(const std::string& more_metadata = "", int nodes = 0) {
  return object_of(fmt::format(
      R"({{"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomain",
          "metadata":{{"namespace":"ns","name":"my-compute-domain","uid":"uid-a","resourceVersion":"5"{}}},
          "spec":{{"numNodes":{},"channel":{{"allocationMode":"Single",
            "resourceClaimTemplate":{{"name":"imex-channel-0"}}}}}}}})",
      more_metadata, nodes));
}

// A claim of the template that is allocated on the node.
inline boost::json::object channel_claim_object(const std::string& name, const std::string& node,
                                                const std::string& domain = "uid-a") {
  return object_of(fmt::format(
      R"({{"metadata":{{"namespace":"ns","name":"{}","labels":{{"resource.nvidia.com/computeDomain":"{}"}}}},
          "status":{{"allocation":{{"devices":{{"results":[{{"request":"channel","driver":"compute-domain.nvidia.com",
            "pool":"{}","device":"channel-0"}}]}}}}}}}})",
      name, domain, node));
}

// The slice of a node with its channel.
inline boost::json::object channel_slice_object(const std::string& node, const std::string& clique,
                                                const std::string& taints = "[]") {
  return object_of(fmt::format(
      R"({{"metadata":{{"name":"{0}-imex"}},"spec":{{"driver":"compute-domain.nvidia.com","nodeName":"{0}",
          "pool":{{"name":"{0}","generation":1,"resourceSliceCount":1}},"devices":[{{"name":"channel-0","taints":{2},
          "attributes":{{"type":{{"string":"channel"}},"id":{{"int":0}},
            "nvidia.cardcage.dev/clique":{{"string":"{1}"}}}}}}]}}}})",
      node, clique, taints));
}

// A node as its kubelet writes it. Each update has another `heartbeat`.
inline boost::json::object node_object(const std::string& name, const std::string& address,
                                       const std::string& heartbeat = "2027-01-15T08:00:00Z") {
  return object_of(fmt::format(
      R"({{"metadata":{{"name":"{0}"}},"status":{{"addresses":[{{"type":"Hostname","address":"{0}"}},
          {{"type":"InternalIP","address":"{1}"}},{{"type":"InternalIP","address":"fd00::1"}}],
          "conditions":[{{"type":"Ready","status":"True","lastHeartbeatTime":"{2}"}}]}}}})",
      name, address, heartbeat));
}

}  // namespace cardcage
