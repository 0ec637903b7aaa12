// The name under which devices are served to the kubelet.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

namespace cardcage {

enum class Api : std::uint8_t { kDra, kDevicePlugin };

// A DRA driver name ("gpu.example.com") or a device-plugin resource name ("example.com/gpu").
struct ServedName {
  Api api = Api::kDra;
  std::string name;

  bool is_resource() const { return api == Api::kDevicePlugin; }
  // "driver" or "resource", for logs and error texts.
  const char* kind() const { return is_resource() ? "resource" : "driver"; }
  friend auto operator<=>(const ServedName&, const ServedName&) = default;
};

// Converts a text of the ledger or of an intent, which do not store the API: a resource name has a slash, a driver name
// has none. Code that knows the API must not use it.
inline ServedName served_name_from_stored(std::string text) {
  const Api api = text.find('/') == std::string::npos ? Api::kDra : Api::kDevicePlugin;
  return {api, std::move(text)};
}

}  // namespace cardcage
