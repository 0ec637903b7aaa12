// The ComputeDomains of the cluster with the objects that belong to them, and the next change that each needs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "fleet/compute_domain.h"

namespace cardcage {

enum class ComputeDomainStep : std::uint8_t {
  kNone,
  kAddFinalizer,
  kWriteStatus,
  kCreateTemplate,
  kDeleteTemplate,
  kRemoveFinalizer,
};

// [core]
class ComputeDomainStore {
 public:
  // The kinds of objects that it gets: ComputeDomains, the ResourceClaimTemplates and ResourceClaims with their label,
  // the ResourceSlices of their driver, and Nodes.
  enum class Kind : std::uint8_t { kDomain, kTemplate, kClaim, kSlice, kNode };

  // Objects that cannot be read are ignored. Keys are those of key_of(). Returns false if no domain needs a change
  // because of it: kubelets update their Nodes all the time.
  bool put(Kind kind, const json::object& object);
  void remove(Kind kind, const std::string& key);
  // Forgets the objects of the kind that a complete list does not name.
  void keep(Kind kind, const std::unordered_set<std::string>& keys);

  std::vector<std::string> domains() const;
  // Null for a domain that is gone.
  const ComputeDomain* find(const std::string& key) const;
  // The nodes on which claims of the domain have a channel, by name.
  std::vector<ComputeDomainNode> nodes_of(const ComputeDomain& domain) const;
  json::object wanted_status(const ComputeDomain& domain) const;
  ComputeDomainStep next_step(const ComputeDomain& domain) const;

 private:
  struct Template {
    std::string domain_uid;
    bool deleting = false;
  };
  struct Claim {
    std::string domain_uid;
    std::set<std::string> pools;  // those of its channels
  };
  void put_domain(const std::string& key, const json::object& object);
  void put_template(const std::string& key, const json::object& object);
  void put_claim(const std::string& key, const json::object& object);
  bool put_node(const std::string& name, const json::object& object);
  // The template of the domain; null if there is none, or if it belongs to another domain.
  const Template* template_of(const ComputeDomain& domain) const;

  std::map<std::string, ComputeDomain> domains_;
  std::map<std::string, Template> templates_;
  std::map<std::string, Claim> claims_;
  // The channels of a node by the name of its slice. A pool has the node's name.
  std::map<std::string, std::pair<std::string, ComputeDomainNode>> slices_;
  std::map<std::string, std::string> addresses_;  // by the key of the Node
};

}  // namespace cardcage
