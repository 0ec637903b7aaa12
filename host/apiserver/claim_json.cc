#include "host/apiserver/claim_json.h"

#include <algorithm>

#include "host/apiserver/object_name.h"
#include "host/core/ascii.h"
#include "host/model/naming.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxResults = 128, kMaxConfigs = 256, kMaxRequests = 128, kMaxCapacities = 128,
                      kMaxConditions = 16, kMaxReservations = 1024, kMaxPodClaims = 64;
constexpr std::size_t kMaxText = 253;
constexpr std::size_t kMaxParameters = std::size_t{32} << 10;

Status check_size(std::size_t size, std::size_t limit, std::string_view what) {
  if (size <= limit) return {};
  return fail(Code::kInvalidArgument, "{} has {} entries, at most {} are allowed", what, size, limit);
}

// A required short text of printable ASCII without spaces.
Result<std::string> short_text(const json::object& object, std::string_view key, std::string_view what) {
  const auto text = text_at(object, key);
  const bool printable = std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (text.empty() || text.size() > kMaxText || !printable)
    return fail(Code::kInvalidArgument, "{}.{} is missing, empty, longer than {} characters or not printable", what,
                key, kMaxText);
  return std::string(text);
}

Result<ClaimRef> ref_from(const json::object& metadata) {
  ClaimRef ref{std::string(text_at(metadata, "namespace")), std::string(text_at(metadata, "name")),
               std::string(text_at(metadata, "uid"))};
  if (auto valid = check_namespace(ref.name_space); !valid) return std::unexpected(valid.error());
  if (auto valid = check_object_name(ref.name, "ResourceClaim name"); !valid) return std::unexpected(valid.error());
  const bool plain = std::ranges::all_of(ref.uid, [](char c) { return is_alphanumeric(c) || c == '-'; });
  if (ref.uid.empty() || ref.uid.size() > 64 || !plain)
    return fail(Code::kInvalidArgument, "metadata.uid is missing or not a UUID; write any UUID");
  return ref;
}

// The name becomes part of a path in containers.
Result<std::string> pod_claim_name_from(const json::object& metadata) {
  constexpr std::string_view kAnnotation = "resource.kubernetes.io/pod-claim-name";
  const auto name = text_at(object_at(metadata, "annotations"), kAnnotation);
  if (!name.empty() && !is_dns_label(name))
    return fail(Code::kInvalidArgument, "annotation {} is not a DNS label", kAnnotation);
  return std::string(name);
}

Result<std::map<std::string, Quantity>> capacities_from(const json::object& object, std::string_view what) {
  std::map<std::string, Quantity> capacities;
  if (auto fits = check_size(object.size(), kMaxCapacities, what); !fits) return std::unexpected(fits.error());
  for (const auto& [name, value] : object) {
    const auto* text = value.if_string();
    auto amount = text != nullptr ? Quantity::parse(std::string_view(*text))
                                  : Result<Quantity>(fail(Code::kInvalidArgument, "not a text"));
    if (!amount)
      return fail(Code::kInvalidArgument, "{}['{}']: {}", what, std::string_view(name).substr(0, kMaxText),
                  amount.error().message);
    capacities.emplace(name, *amount);
  }
  return capacities;
}

Result<std::vector<std::string>> condition_types(const json::array& array, std::string_view what) {
  std::vector<std::string> types;
  if (auto fits = check_size(array.size(), kMaxConditions, what); !fits) return std::unexpected(fits.error());
  for (const auto& item : array) {
    const auto* type = item.if_string();
    if (type == nullptr || !is_label_key(*type))
      return fail(Code::kInvalidArgument, "{} holds something that is not the type of a condition", what);
    types.emplace_back(*type);
  }
  return types;
}

Result<Allocation> allocation_from(const json::object& result, std::string_view what) {
  Allocation allocation;
  const std::pair<std::string_view, std::string*> fields[] = {{"request", &allocation.request},
                                                              {"driver", &allocation.driver},
                                                              {"pool", &allocation.pool},
                                                              {"device", &allocation.device}};
  for (const auto& [key, target] : fields) {
    auto text = short_text(result, key, what);
    if (!text) return std::unexpected(text.error());
    *target = std::move(*text);
  }
  allocation.admin_access = bool_at(result, "adminAccess");
  if (result.contains("shareID")) {
    auto share = short_text(result, "shareID", what);
    if (!share) return std::unexpected(share.error());
    allocation.share_id = std::move(*share);
  }
  auto consumed = capacities_from(object_at(result, "consumedCapacity"), fmt::format("{}.consumedCapacity", what));
  if (!consumed) return std::unexpected(consumed.error());
  allocation.consumed_capacity = std::move(*consumed);
  for (const auto& [key, types] : {std::pair("bindingConditions", &allocation.binding.conditions),
                                   std::pair("bindingFailureConditions", &allocation.binding.failures)}) {
    auto read = condition_types(array_at(result, key), fmt::format("{}.{}", what, key));
    if (!read) return std::unexpected(read.error());
    *types = std::move(*read);
  }
  return allocation;
}

Result<OpaqueConfig> config_from(const json::object& entry, std::string_view what) {
  OpaqueConfig config;
  const auto source = text_at(entry, "source");
  if (source != "FromClass" && source != "FromClaim")
    return fail(Code::kInvalidArgument, "{}.source is '{}', neither FromClass nor FromClaim", what,
                source.substr(0, 64));
  config.source = source == "FromClass" ? ConfigSource::kClass : ConfigSource::kClaim;
  const auto& requests = array_at(entry, "requests");
  if (auto fits = check_size(requests.size(), kMaxRequests, fmt::format("{}.requests", what)); !fits)
    return std::unexpected(fits.error());
  for (const auto& request : requests) {
    const auto* text = request.if_string();
    if (text == nullptr || text->empty() || text->size() > kMaxText)
      return fail(Code::kInvalidArgument, "{}.requests holds something that is not a request name", what);
    config.requests.emplace_back(std::string_view(*text));
  }
  const auto& opaque = object_at(entry, "opaque");
  if (opaque.empty()) return config;  // a later release added another type; code that uses it must refuse it
  auto driver = short_text(opaque, "driver", fmt::format("{}.opaque", what));
  if (!driver) return std::unexpected(driver.error());
  config.driver = std::move(*driver);
  const auto* parameters = opaque.if_contains("parameters");
  config.parameters = parameters != nullptr ? json::serialize(*parameters) : "{}";
  if (config.parameters.size() > kMaxParameters)
    return fail(Code::kInvalidArgument, "{}.opaque.parameters is larger than {} bytes", what, kMaxParameters);
  return config;
}

template <class T, class Parse>
Status read_list(const json::array& array, std::size_t limit, std::string_view what, std::vector<T>& target,
                 Parse parse) {
  if (auto fits = check_size(array.size(), limit, what); !fits) return fits;
  for (const auto& item : array) {
    auto parsed = parse(as_object(item), fmt::format("{}[{}]", what, target.size()));
    if (!parsed) return std::unexpected(parsed.error());
    target.push_back(std::move(*parsed));
  }
  return {};
}

}  // namespace

Result<Claim> claim_from_json(const json::value& value) {
  const auto& root = as_object(value);
  auto ref = ref_from(object_at(root, "metadata"));
  if (!ref) return within(ref.error(), "ResourceClaim");
  Claim claim;
  claim.ref = std::move(*ref);
  auto pod_claim_name = pod_claim_name_from(object_at(root, "metadata"));
  if (!pod_claim_name) return within(pod_claim_name.error(), "ResourceClaim");
  claim.pod_claim_name = std::move(*pod_claim_name);
  const auto& status = object_at(root, "status");
  const auto* allocation = status.if_contains("allocation");
  claim.allocated = allocation != nullptr && allocation->is_object();
  if (!claim.allocated) return claim;
  claim.allocated_at = text_at(allocation->get_object(), "allocationTimestamp");
  for (const auto& consumer : array_at(status, "reservedFor"))
    if (claim.reserved_for.size() < kMaxReservations)
      claim.reserved_for.emplace_back(text_at(as_object(consumer), "uid"));

  const auto& devices = object_at(allocation->get_object(), "devices");
  auto read = read_list(array_at(devices, "results"), kMaxResults, "status.allocation.devices.results",
                        claim.allocations, allocation_from);
  if (read)
    read = read_list(array_at(devices, "config"), kMaxConfigs, "status.allocation.devices.config", claim.configs,
                     config_from);
  if (!read) return within(read.error(), "ResourceClaim '{}/{}'", claim.ref.name_space, claim.ref.name);
  return claim;
}

PodClaims pod_claims_from_json(const json::value& pod) {
  const auto& root = as_object(pod);
  const auto& status = object_at(root, "status");
  PodClaims claims{std::string(text_at(object_at(root, "metadata"), "uid")), {}};
  const auto add = [&](const json::object& claim) {
    const auto name = text_at(claim, "resourceClaimName");
    if (check_object_name(name, "ResourceClaim name") && claims.names.size() < kMaxPodClaims)
      claims.names.emplace_back(name);
  };
  for (const auto& made : array_at(status, "resourceClaimStatuses")) add(as_object(made));
  add(object_at(status, "extendedResourceClaimStatus"));
  return claims;
}

}  // namespace cardcage
