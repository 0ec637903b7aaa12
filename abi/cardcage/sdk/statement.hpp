// SPDX-License-Identifier: Apache-2.0
// Statements of prepare() and bind() about a device for the users of the claim. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_STATEMENT_HPP_
#define CARDCAGE_SDK_STATEMENT_HPP_

#include <cardcage/sdk/attributes.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cage {

// A condition of a device in ResourceClaim.status.devices. The host adds the time of its last change.
struct Condition {
  std::string type;       // "Ready", "example.com/Attached"
  std::uint32_t status;   // CAGE_CONDITION_*
  std::string reason;     // a CamelCase token, never empty
  std::string message{};  // for people, at most 1024 bytes

  static Condition yes(std::string type, std::string reason, std::string message = {}) {
    return {std::move(type), CAGE_CONDITION_TRUE, std::move(reason), std::move(message)};
  }
  static Condition no(std::string type, std::string reason, std::string message = {}) {
    return {std::move(type), CAGE_CONDITION_FALSE, std::move(reason), std::move(message)};
  }
  static Condition unknown(std::string type, std::string reason, std::string message = {}) {
    return {std::move(type), CAGE_CONDITION_UNKNOWN, std::move(reason), std::move(message)};
  }
};

struct NetworkData {
  std::string interface_name{};    // in the pod
  std::vector<std::string> ips{};  // with the length of the prefix: "10.1.2.3/24"
  std::string hardware_address{};
};

// Attributes for the file that describes a device to its containers, in addition to those of discover() and the host.
class Description {
 public:
  // The values are as those of attributes of devices.
  template <class T>
  Description& attribute(std::string name, const T& value) {
    attributes_.add(std::move(name), value);
    return *this;
  }

 private:
  friend class Edit;
  detail::Attributes attributes_;
};

namespace detail {

inline cage_condition raw(const Condition& condition) {
  cage_condition out{};
  out.struct_size = sizeof out;
  out.status = condition.status;
  out.type = raw(condition.type);
  out.reason = raw(condition.reason);
  out.message = raw(condition.message);
  return out;
}

}  // namespace detail

}  // namespace cage

#endif  // CARDCAGE_SDK_STATEMENT_HPP_
