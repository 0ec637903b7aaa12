// The interfaces that the node itself uses. Giving one away would cut off the node, or the program that uses it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cardcage::nic {

// The operator's patterns for names of interfaces, with * and ?.
struct Choice {
  std::vector<std::string> keep;        // interfaces that stay with the node
  std::vector<std::string> interfaces;  // offered although they have no PCI function, or have an address
};

bool matches_any(const std::string& name, const std::vector<std::string>& patterns);

// Reads the kernel's links, routes and addresses once, at construction.
class NodeLinks {
 public:
  // Reads the network namespace of this thread. Throws std::system_error.
  explicit NodeLinks(const Choice& choice);

  // Returns why the interface must stay with the node; empty if it may go.
  std::string reason_to_keep(const std::string& name) const;

 private:
  const Choice& choice_;
  std::map<std::string, std::string> in_use_;  // the reasons by name
};

}  // namespace cardcage::nic
