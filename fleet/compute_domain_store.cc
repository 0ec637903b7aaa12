#include "fleet/compute_domain_store.h"

#include <algorithm>

#include "fleet/object_key.h"
#include "host/core/log.h"
#include "host/model/resource_version.h"

namespace cardcage {
namespace {

constexpr std::string_view kCliqueAttribute = "nvidia.cardcage.dev/clique";

std::string label_of(const json::object& object) {
  return std::string(text_at(object_at(object_at(object, "metadata"), "labels"), kComputeDomainLabel));
}

// Returns whether `object` is older than `known`.
bool is_older(const json::object& object, const json::object& known) {
  const std::string_view version = text_at(object_at(object, "metadata"), "resourceVersion");
  const std::string_view newest = text_at(object_at(known, "metadata"), "resourceVersion");
  return version != newest && is_known(version, newest);
}

bool keeps_claims_away(const json::object& device) {
  return std::ranges::any_of(array_at(device, "taints"), [](const json::value& taint) {
    const std::string_view effect = text_at(as_object(taint), "effect");
    return effect == "NoSchedule" || effect == "NoExecute";
  });
}

ComputeDomainNode channel_node(const json::object& spec) {
  ComputeDomainNode node{.name = std::string(text_at(spec, "nodeName")), .clique = {}, .address = {}, .ready = false};
  for (const json::value& item : array_at(spec, "devices")) {
    const json::object& device = as_object(item);
    const json::object& attributes = object_at(device, "attributes");
    if (text_at(object_at(attributes, "type"), "string") != "channel") continue;
    node.clique = text_at(object_at(attributes, kCliqueAttribute), "string");
    node.ready = !keeps_claims_away(device);
  }
  return node;
}

// The address that other nodes use. The first one, if the node has two families of addresses.
std::string internal_address(const json::object& node) {
  for (const json::value& item : array_at(object_at(node, "status"), "addresses"))
    if (text_at(as_object(item), "type") == "InternalIP") return std::string(text_at(as_object(item), "address"));
  return {};
}

// The key of a Node, as key_of() makes it of the object: it has no namespace.
std::string key_of_node(const std::string& name) { return "/" + name; }

template <class Objects>
void keep_only(Objects& objects, const std::unordered_set<std::string>& keys) {
  std::erase_if(objects, [&](const auto& entry) { return !keys.contains(entry.first); });
}

}  // namespace

bool ComputeDomainStore::put(Kind kind, const json::object& object) {
  const std::string key = key_of(object);
  switch (kind) {
    case Kind::kDomain: put_domain(key, object); return true;
    case Kind::kTemplate: put_template(key, object); return true;
    case Kind::kClaim: put_claim(key, object); return true;
    case Kind::kSlice:
      if (const json::object& spec = object_at(object, "spec"); text_at(spec, "driver") == kComputeDomainDriver)
        slices_[key] = {std::string(text_at(object_at(spec, "pool"), "name")), channel_node(spec)};
      return true;
    case Kind::kNode: return put_node(key, object);
  }
  return false;
}

void ComputeDomainStore::put_domain(const std::string& key, const json::object& object) {
  // A watch may deliver a version older than a change that this process made.
  if (const ComputeDomain* const known = find(key); known != nullptr && is_older(object, known->object)) return;
  if (auto read = compute_domain_from_json(object))
    domains_[key] = std::move(*read);
  else
    log_limited(LogLevel::kWarn, "compute-domain", "ignoring an object that cannot be read",
                {{"error", read.error().message}});
}

void ComputeDomainStore::put_template(const std::string& key, const json::object& object) {
  if (const std::string uid = label_of(object); uid.empty())
    templates_.erase(key);
  else
    templates_[key] = {uid, !text_at(object_at(object, "metadata"), "deletionTimestamp").empty()};
}

void ComputeDomainStore::put_claim(const std::string& key, const json::object& object) {
  Claim claim{.domain_uid = label_of(object), .pools = {}};
  const json::object& allocation = object_at(object_at(object, "status"), "allocation");
  for (const json::value& result : array_at(object_at(allocation, "devices"), "results"))
    if (text_at(as_object(result), "driver") == kComputeDomainDriver)
      claim.pools.emplace(text_at(as_object(result), "pool"));
  if (claim.domain_uid.empty() || claim.pools.empty())
    claims_.erase(key);
  else
    claims_[key] = std::move(claim);
}

bool ComputeDomainStore::put_node(const std::string& key, const json::object& object) {
  std::string address = internal_address(object);
  std::string& known = addresses_[key];
  if (known == address) return false;
  known = std::move(address);
  return true;
}

void ComputeDomainStore::remove(Kind kind, const std::string& key) {
  switch (kind) {
    case Kind::kDomain: domains_.erase(key); return;
    case Kind::kTemplate: templates_.erase(key); return;
    case Kind::kClaim: claims_.erase(key); return;
    case Kind::kSlice: slices_.erase(key); return;
    case Kind::kNode: addresses_.erase(key); return;
  }
}

void ComputeDomainStore::keep(Kind kind, const std::unordered_set<std::string>& keys) {
  switch (kind) {
    case Kind::kDomain: keep_only(domains_, keys); return;
    case Kind::kTemplate: keep_only(templates_, keys); return;
    case Kind::kClaim: keep_only(claims_, keys); return;
    case Kind::kSlice: keep_only(slices_, keys); return;
    case Kind::kNode: keep_only(addresses_, keys); return;
  }
}

std::vector<std::string> ComputeDomainStore::domains() const {
  std::vector<std::string> keys;
  for (const auto& [key, domain] : domains_) keys.push_back(key);
  return keys;
}

const ComputeDomain* ComputeDomainStore::find(const std::string& key) const {
  const auto found = domains_.find(key);
  return found == domains_.end() ? nullptr : &found->second;
}

const ComputeDomainStore::Template* ComputeDomainStore::template_of(const ComputeDomain& domain) const {
  const auto found = templates_.find(domain.name_space + "/" + domain.template_name);
  return found == templates_.end() || found->second.domain_uid != domain.uid ? nullptr : &found->second;
}

std::vector<ComputeDomainNode> ComputeDomainStore::nodes_of(const ComputeDomain& domain) const {
  std::set<std::string> pools;
  for (const auto& [key, claim] : claims_)
    if (claim.domain_uid == domain.uid) pools.insert(claim.pools.begin(), claim.pools.end());
  std::map<std::string, ComputeDomainNode> nodes;
  // A node whose driver publishes nothing now is listed by its pool, which has its name.
  for (const std::string& pool : pools) nodes[pool] = {.name = pool, .clique = {}, .address = {}, .ready = false};
  for (const auto& [key, slice] : slices_) {
    const auto& [pool, node] = slice;
    if (pools.contains(pool) && !node.name.empty()) nodes[pool] = node;
  }
  std::vector<ComputeDomainNode> list;
  for (auto& [pool, node] : nodes) {
    if (const auto known = addresses_.find(key_of_node(node.name)); known != addresses_.end())
      node.address = known->second;
    list.push_back(std::move(node));
  }
  std::ranges::sort(list, {}, &ComputeDomainNode::name);
  return list;
}

json::object ComputeDomainStore::wanted_status(const ComputeDomain& domain) const {
  const Template* const own = template_of(domain);
  return compute_domain_status(domain, own != nullptr && !own->deleting, nodes_of(domain));
}

ComputeDomainStep ComputeDomainStore::next_step(const ComputeDomain& domain) const {
  using enum ComputeDomainStep;
  const Template* const own = template_of(domain);
  if (domain.deleting) {
    if (!domain.has_finalizer) return kNone;
    if (own == nullptr) return kRemoveFinalizer;
    return own->deleting ? kNone : kDeleteTemplate;
  }
  if (!domain.has_finalizer) return kAddFinalizer;
  if (object_at(domain.object, "status") != wanted_status(domain)) return kWriteStatus;
  return own == nullptr ? kCreateTemplate : kNone;
}

}  // namespace cardcage
