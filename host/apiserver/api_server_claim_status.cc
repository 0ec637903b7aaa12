// Applies the statuses that drivers state for a claim's devices, by server-side apply.
#include "host/apiserver/api_parts.h"
#include "host/apiserver/api_server.h"
#include "host/apiserver/claim_status_json.h"
#include "host/apiserver/percent_encode.h"

namespace cardcage {
namespace {

ApiCall apply_call(ResourceApi version, const ClaimRef& claim, const StatusOwner& owner, const json::array& devices) {
  return {
      fmt::format("apply the status of devices to ResourceClaim '{}/{}'", claim.name_space, claim.name),
      {.method = "PATCH",
       .path = fmt::format("/apis/resource.k8s.io/{}/namespaces/{}/resourceclaims/{}/status?fieldManager={}&force=true",
                           to_string(version), claim.name_space, claim.name, percent_encode(owner.manager())),
       .body = json::serialize(claim_status_patch(claim, devices, version)),
       .content_type = "application/apply-patch+yaml",
       .max_body = kMaxObject},
      CallKind::kUpdate};
}

}  // namespace

Task<Status> ApiServer::apply_claim_status(ClaimRef claim, StatusOwner owner, std::vector<DeviceStatus> devices,
                                           Instant deadline) {
  if (auto valid = check_claim_status(claim, owner.driver, devices); !valid) co_return valid;
  const auto entries = claim_status_to_json(devices);
  if (!entries) co_return std::unexpected(entries.error());
  MakeCall make = [&](ResourceApi version) { return apply_call(version, claim, owner, *entries); };
  const auto body = co_await call(std::move(make), deadline);
  const auto stored = parse_response(body);
  if (!stored) co_return std::unexpected(stored.error());
  if (!has_entries(array_at(object_at(as_object(*stored), "status"), "devices"), devices))
    co_return fail(Code::kUnimplemented,
                   "the API server does not store the status of a claim's devices; its feature gate "
                   "DRAResourceClaimDeviceStatus is off (on by default since Kubernetes 1.33)");
  co_return Status{};
}

}  // namespace cardcage
