// Conditions that a device must meet after its allocation before a pod may use it (KEP-5007).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cardcage {

constexpr std::size_t kMaxBindingConditions = 4;  // the failures have the same limit

// Types of claim status conditions that the scheduler waits for.
struct Binding {
  std::vector<std::string> conditions;  // all must be true before the pod is bound
  std::vector<std::string> failures;    // if one is true, the scheduler allocates another device
  bool to_node = false;                 // the claim stays on the node chosen for it

  bool empty() const { return conditions.empty() && failures.empty(); }
  friend bool operator==(const Binding&, const Binding&) = default;
};

// Explains why the API server would refuse the binding of a device; nothing if it is valid (k/k
// pkg/apis/resource/validation). A device that is ready at once has an empty binding.
std::optional<std::string> flaw_of(const Binding& binding);

}  // namespace cardcage
