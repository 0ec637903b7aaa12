// What has to be done for a device after its allocation, before a pod gets it (KEP-5007).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cardcage {

constexpr std::size_t kMaxBindingConditions = 4;  // and as many failures

// Types of conditions in the status of the claim, which the scheduler waits for.
struct Binding {
  std::vector<std::string> conditions;  // all must be true before a pod gets the device
  std::vector<std::string> failures;    // if one is true, the pod gets another device
  bool to_node = false;                 // the claim stays on the node that was chosen for it

  bool empty() const { return conditions.empty() && failures.empty(); }
  friend bool operator==(const Binding&, const Binding&) = default;
};

// Says why the API server would refuse the binding of a device; nothing if it would not (k/k
// pkg/apis/resource/validation). A device that is ready at once has an empty binding.
std::optional<std::string> flaw_of(const Binding& binding);

}  // namespace cardcage
