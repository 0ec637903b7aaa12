// ComputeDomains, by which users request IMEX channels on several nodes, and the objects that belong to them.
//
// Source: resource.nvidia.com/v1beta1 of NVIDIA's DRA driver; its host-managed mode, in which administrators run
// nvidia-imex as a service of each node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/apiserver/json_view.h"

namespace cardcage {

// The label of templates and claims with the UID of their domain; also the name of the finalizer.
inline constexpr std::string_view kComputeDomainLabel = "resource.nvidia.com/computeDomain";
inline constexpr std::string_view kComputeDomainDriver = "compute-domain.nvidia.com";

struct ComputeDomain {
  std::string name_space, name, uid;
  std::string template_name;  // the ResourceClaimTemplate that pods use
  std::int64_t nodes = 0;     // how many must be ready before the domain is
  bool deleting = false, has_finalizer = false;
  json::object object;  // as the API server stores it

  std::string key() const { return name_space + "/" + name; }
};
// Fails without name, namespace, UID or the name of a template.
Result<ComputeDomain> compute_domain_from_json(const json::object& object);

// A node on which a claim of the domain has a channel.
struct ComputeDomainNode {
  std::string name, clique;
  std::string address;  // its InternalIP; empty if the API server does not know the node
  bool ready = false;   // its channel has no taint that keeps claims away
};

// The ResourceClaimTemplate for workloads of the domain.
json::object claim_template_json(const ComputeDomain& domain);
// The status that the domain should have. A node that the current status lists keeps its index. `nodes` is sorted by
// name.
json::object compute_domain_status(const ComputeDomain& domain, bool has_template,
                                   const std::vector<ComputeDomainNode>& nodes);
// The object with the finalizer, or without it.
json::object with_finalizer(const ComputeDomain& domain, bool wanted);

}  // namespace cardcage
