// The interfaces that the node itself lives on. Giving one away would cut the node off, or whatever uses it there.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cardcage::nic {

// The operator's patterns for names of interfaces, with * and ?.
struct Choice {
  std::vector<std::string> keep;        // interfaces that stay with the node
  std::vector<std::string> interfaces;  // those that are offered although they have no PCI function, or an address
};

bool matches_any(const std::string& name, const std::vector<std::string>& patterns);

// As the kernel tells them when it is made.
class NodeLinks {
 public:
  // In the network namespace of this thread. Throws std::system_error.
  explicit NodeLinks(const Choice& choice);

  // Why the interface must stay; empty if it may go.
  std::string reason_to_keep(const std::string& name) const;

 private:
  const Choice& choice_;
  std::map<std::string, std::string> in_use_;  // the reasons by name
};

}  // namespace cardcage::nic
