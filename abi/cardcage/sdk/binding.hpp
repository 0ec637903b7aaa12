// SPDX-License-Identifier: Apache-2.0
// Conditions that make a device ready for a claim before a pod gets it. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_BINDING_HPP_
#define CARDCAGE_SDK_BINDING_HPP_

#include <cardcage/sdk/claim.hpp>
#include <cardcage/sdk/statement.hpp>

namespace cage {

// The conditions of a claim's devices that bind() states, each time.
class Conditions {
 public:
  explicit Conditions(cage_bind_sink* sink) : sink_(sink) {}

  void state(const Allocation& allocation, const Condition& condition) {
    const cage_condition given = detail::raw(condition);
    detail::must(sink_->condition(sink_, allocation.index(), &given));
  }

 private:
  cage_bind_sink* sink_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_BINDING_HPP_
