// The ways in which a visitor can reach the page of a node.
#pragma once

#include <string>

#include "fleet/node_pages.h"
#include "web/server/permissions.h"

namespace cardcage {

// [core] All parts outlive this object and its tasks.
class PageLinks {
 public:
  PageLinks(const NodePages& pages, std::string name_space, Permissions& permissions)
      : pages_(pages), name_space_(std::move(name_space)), permissions_(permissions) {}

  // The member "page" of docs/fleet.md. Null if the node has no page, or the visitor cannot reach it.
  Task<json::value> to_node(std::string node, std::string subject);

 private:
  Task<bool> may(std::string subject, std::string verb, std::string pod, std::string subresource);

  const NodePages& pages_;
  const std::string name_space_;
  Permissions& permissions_;
};

}  // namespace cardcage
