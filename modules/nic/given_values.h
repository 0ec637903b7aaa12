// Reads the parameters that a document gives. Parameters that it leaves out do not change a function.
#pragma once

#include <linux/if_link.h>

#include <cardcage/sdk.hpp>
#include <optional>

namespace cardcage::nic {

inline std::optional<std::uint32_t> given_number(const cage::Values& values, const char* field) {
  return values.given(field) ? std::optional(static_cast<std::uint32_t>(values.integer(field))) : std::nullopt;
}

inline std::optional<bool> given_boolean(const cage::Values& values, const char* field) {
  return values.given(field) ? std::optional(values.boolean(field)) : std::nullopt;
}

// Returns IFLA_VF_LINK_STATE_* for "auto", "enable" or "disable".
inline std::optional<std::uint32_t> given_link_state(const cage::Values& values, const char* field) {
  if (!values.given(field)) return std::nullopt;
  const std::string_view state = values.text(field);
  if (state == "auto") return IFLA_VF_LINK_STATE_AUTO;
  return state == "enable" ? IFLA_VF_LINK_STATE_ENABLE : IFLA_VF_LINK_STATE_DISABLE;
}

}  // namespace cardcage::nic
