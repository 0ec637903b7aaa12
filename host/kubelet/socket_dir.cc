#include "host/kubelet/socket_dir.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "host/core/ascii.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxDriverName = 63;
constexpr std::size_t kMaxInstance = 253;

// The first `bytes` of the SHA-256 of `text` in base64url without padding.
std::string digest(std::string_view text, std::size_t bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  std::string out;
  for (std::size_t bit = 0; bit < bytes * 8; bit += 6) {
    const std::size_t at = bit / 8;
    const unsigned next = at + 1 < bytes ? hash[at + 1] : 0u;
    const unsigned pair = (unsigned{hash[at]} << 8) | next;
    out += kAlphabet[(pair >> (10 - bit % 8)) & 0x3F];
  }
  return out;
}

// The first candidate that is short enough.
Result<fs::path> first_that_fits(std::initializer_list<fs::path> candidates, std::string_view key = "node.kubelet_root",
                                 std::size_t limit = kMaxSocketPath) {
  for (const fs::path& candidate : candidates)
    if (candidate.native().size() <= limit) return candidate;
  const fs::path& shortest = *std::prev(candidates.end());
  return fail(Code::kInvalidArgument, "socket path '{}' has {} bytes and unix sockets allow {}: use a shorter {}",
              shortest.native(), shortest.native().size(), limit, key);
}

// Leaves room for the dot of the hidden name, see SocketListener::Appearance.
constexpr std::size_t kMaxWithDot = kMaxSocketPath - 1;

Status check_resource(std::string_view resource) {
  const auto slash = resource.find('/');
  if (slash != std::string_view::npos && is_plain_file_name(resource.substr(0, slash)) &&
      is_plain_file_name(resource.substr(slash + 1)))
    return {};
  return fail(Code::kInvalidArgument, "resource name '{}' is not of the form 'example.com/name'", resource);
}

Status check_instance(std::string_view instance) {
  if (instance.empty() || (is_plain_file_name(instance) && instance.size() <= kMaxInstance)) return {};
  return fail(Code::kInvalidArgument, "node.instance '{}' must consist of letters, digits, '-', '_' and '.'", instance);
}

Status check_absolute(const fs::path& folder, std::string_view key) {
  if (folder.is_absolute()) return {};
  return fail(Code::kInvalidArgument, "{} '{}' must be an absolute path", key, folder.native());
}

}  // namespace

Result<DriverSockets> driver_sockets(const fs::path& kubelet_root, std::string_view driver, std::string_view instance) {
  if (!is_plain_file_name(driver) || driver.size() > kMaxDriverName)
    return fail(Code::kInvalidArgument, "driver name '{}' is not a DNS name of at most {} bytes", driver,
                kMaxDriverName);
  if (auto good = check_instance(instance); !good) return std::unexpected(good.error());
  if (auto good = check_absolute(kubelet_root, "node.kubelet_root"); !good) return std::unexpected(good.error());

  const std::string name(driver), both = name + '\0' + std::string(instance);
  const std::string suffix = instance.empty() ? "" : "-" + std::string(instance);
  const std::string hashed_suffix = instance.empty() ? "" : "-" + digest(instance, 8);
  const fs::path registry = kubelet_root / "plugins_registry", plugins = kubelet_root / "plugins";
  const auto registration =
      first_that_fits({registry / (name + suffix + "-reg.sock"), registry / (name + hashed_suffix + "-reg.sock"),
                       registry / ("dra-" + digest(both, 16) + "-reg.sock")});
  if (!registration) return std::unexpected(registration.error());
  const auto service =
      first_that_fits({plugins / name / ("dra" + suffix + ".sock"), plugins / name / ("dra" + hashed_suffix + ".sock"),
                       plugins / ("dra-" + digest(both, 16)) / "dra.sock"});
  if (!service) return std::unexpected(service.error());
  return DriverSockets{*registration, *service};
}

Result<fs::path> resource_registry_socket(const fs::path& kubelet_root, std::string_view resource,
                                          std::string_view instance) {
  if (auto good = check_resource(resource); !good) return std::unexpected(good.error());
  if (auto good = check_instance(instance); !good) return std::unexpected(good.error());
  if (auto good = check_absolute(kubelet_root, "node.kubelet_root"); !good) return std::unexpected(good.error());
  std::string name(resource);
  const std::string both = name + '\0' + std::string(instance);
  std::ranges::replace(name, '/', '_');
  const std::string suffix = instance.empty() ? "" : "-" + std::string(instance);
  const std::string hashed_suffix = instance.empty() ? "" : "-" + digest(instance, 8);
  const fs::path registry = kubelet_root / "plugins_registry";
  return first_that_fits({registry / ("cardcage-" + name + suffix + "-reg.sock"),
                          registry / ("cardcage-" + name + hashed_suffix + "-reg.sock"),
                          registry / ("cardcage-" + digest(both, 16) + "-reg.sock")},
                         "node.kubelet_root", kMaxWithDot);
}

Result<fs::path> resource_socket(const fs::path& device_plugins, std::string_view resource, std::string_view nonce) {
  if (auto good = check_resource(resource); !good) return std::unexpected(good.error());
  if (auto good = check_absolute(device_plugins, "node.device_plugins_dir"); !good)
    return std::unexpected(good.error());
  const fs::path path = device_plugins / fmt::format("cardcage-{}-{}.sock", digest(resource, 8), nonce);
  return first_that_fits({path}, "node.device_plugins_dir", kMaxWithDot);
}

}  // namespace cardcage
