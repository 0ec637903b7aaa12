// The label by which a daemon finds the claims that wait for devices of its node.
// See docs/decisions/0049-the-fleet-labels-claims-for-daemons.md.
#pragma once

#include <string>
#include <string_view>

namespace cardcage {

inline constexpr std::string_view kBindingLabel = "cardcage.dev/binding-node";

// Returns the label's value: the name of the node, or a hash of a name that is longer than values may be.
std::string binding_label_of(std::string_view node);

}  // namespace cardcage
