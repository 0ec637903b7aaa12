#include "fleet/compute_domain.h"

#include <algorithm>
#include <map>
#include <set>

namespace cardcage {
namespace {

constexpr std::string_view kApiVersion = "resource.nvidia.com/v1beta1";
constexpr std::string_view kTargetLabel = "resource.nvidia.com/computeDomainTarget";
constexpr std::string_view kChannelClass = "compute-domain-default-channel.nvidia.com";
constexpr const char* kRequest = "channel";

bool is_finalizer(const json::value& item) { return item.is_string() && item.get_string() == kComputeDomainLabel; }

// The indexes of the nodes in the domain's current status.
std::map<std::string, std::int64_t> known_indexes(const ComputeDomain& domain) {
  std::map<std::string, std::int64_t> known;
  for (const json::value& item : array_at(object_at(domain.object, "status"), "nodes"))
    known.emplace(text_at(as_object(item), "name"), int_at(as_object(item), "index", -1));
  return known;
}

// Takes the lowest free number.
std::int64_t take_free(std::set<std::int64_t>& taken) {
  std::int64_t index = 0;
  while (taken.contains(index)) ++index;
  taken.insert(index);
  return index;
}

json::array status_nodes(const ComputeDomain& domain, const std::vector<ComputeDomainNode>& nodes) {
  const auto known = known_indexes(domain);
  std::set<std::int64_t> taken;
  std::map<std::string, std::int64_t> kept;
  for (const ComputeDomainNode& node : nodes)
    if (const auto found = known.find(node.name);
        found != known.end() && found->second >= 0 && taken.insert(found->second).second)
      kept.emplace(node.name, found->second);
  json::array list;
  for (const ComputeDomainNode& node : nodes) {
    const auto found = kept.find(node.name);
    list.push_back(json::object{{"name", node.name},
                                {"cliqueID", node.clique},
                                {"ipAddress", node.address},
                                {"index", found != kept.end() ? found->second : take_free(taken)},
                                {"status", node.ready ? "Ready" : "NotReady"}});
  }
  return list;
}

}  // namespace

Result<ComputeDomain> compute_domain_from_json(const json::object& object) {
  const json::object &metadata = object_at(object, "metadata"), &spec = object_at(object, "spec");
  const json::array& finalizers = array_at(metadata, "finalizers");
  ComputeDomain read{
      .name_space = std::string(text_at(metadata, "namespace")),
      .name = std::string(text_at(metadata, "name")),
      .uid = std::string(text_at(metadata, "uid")),
      .template_name = std::string(text_at(object_at(object_at(spec, "channel"), "resourceClaimTemplate"), "name")),
      .nodes = int_at(spec, "numNodes"),
      .deleting = !text_at(metadata, "deletionTimestamp").empty(),
      .has_finalizer = std::ranges::any_of(finalizers, is_finalizer),
      .object = object};
  if (read.name_space.empty() || read.name.empty() || read.uid.empty())
    return fail(Code::kInvalidArgument, "a ComputeDomain has no name, namespace or UID");
  if (read.template_name.empty())
    return fail(Code::kInvalidArgument, "ComputeDomain '{}' names no ResourceClaimTemplate", read.key());
  return read;
}

json::object claim_template_json(const ComputeDomain& domain) {
  const json::object parameters{{"apiVersion", kApiVersion},
                                {"kind", "ComputeDomainChannelConfig"},
                                {"domainID", domain.uid},
                                {"allocationMode", "Single"}};
  const json::object request{
      {"name", kRequest},
      {"exactly", {{"deviceClassName", kChannelClass}, {"allocationMode", "ExactCount"}, {"count", 1}}}};
  const json::object config{{"requests", json::array{kRequest}},
                            {"opaque", {{"driver", kComputeDomainDriver}, {"parameters", parameters}}}};
  // The garbage collector removes the template if the domain is deleted after losing its finalizer.
  const json::object owner{
      {"apiVersion", kApiVersion}, {"kind", "ComputeDomain"}, {"name", domain.name}, {"uid", domain.uid}};
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaimTemplate"},
          {"metadata",
           {{"name", domain.template_name},
            {"namespace", domain.name_space},
            {"labels", {{kComputeDomainLabel, domain.uid}, {kTargetLabel, "Workload"}}},
            {"ownerReferences", json::array{owner}}}},
          {"spec",
           {{"metadata", {{"labels", {{kComputeDomainLabel, domain.uid}}}}},
            {"spec", {{"devices", {{"requests", json::array{request}}, {"config", json::array{config}}}}}}}}};
}

json::object compute_domain_status(const ComputeDomain& domain, bool has_template,
                                   const std::vector<ComputeDomainNode>& nodes) {
  const bool all_ready = std::ranges::all_of(nodes, &ComputeDomainNode::ready);
  const bool enough = static_cast<std::int64_t>(nodes.size()) >= domain.nodes;
  json::object status{{"status", has_template && all_ready && enough ? "Ready" : "NotReady"}};
  if (!nodes.empty()) status["nodes"] = status_nodes(domain, nodes);
  return status;
}

json::object with_finalizer(const ComputeDomain& domain, bool wanted) {
  json::object changed = domain.object;
  json::object& metadata = changed["metadata"].as_object();
  json::array finalizers;
  for (const json::value& item : array_at(metadata, "finalizers"))
    if (!is_finalizer(item)) finalizers.push_back(item);
  if (wanted) finalizers.push_back(json::value(kComputeDomainLabel));
  metadata["finalizers"] = std::move(finalizers);
  return changed;
}

}  // namespace cardcage
