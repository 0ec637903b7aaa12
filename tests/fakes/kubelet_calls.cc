#include "tests/fakes/kubelet_calls.h"

#include <algorithm>

#include "host/rpc/status.h"

namespace cardcage {
namespace {

struct V1 {
  static auto& stub(const DriverClients& clients) { return *clients.dra_v1; }
  using PrepareRequest = api::dra_v1::NodePrepareResourcesRequest;
  using PrepareResponse = api::dra_v1::NodePrepareResourcesResponse;
  using UnprepareRequest = api::dra_v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = api::dra_v1::NodeUnprepareResourcesResponse;
};
struct V1Beta1 {
  static auto& stub(const DriverClients& clients) { return *clients.dra_v1beta1; }
  using PrepareRequest = api::dra_v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = api::dra_v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = api::dra_v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = api::dra_v1beta1::NodeUnprepareResourcesResponse;
};

template <class Request>
Request request_for(const std::vector<ClaimRef>& claims) {
  Request request;
  for (const ClaimRef& ref : claims) {
    auto& claim = *request.add_claims();
    claim.set_namespace_(ref.name_space);
    claim.set_name(ref.name);
    claim.set_uid(ref.uid);
  }
  return request;
}

// Makes the checks of pkg/kubelet/cm/dra/manager.go.
template <class Response>
Status check_response(const std::vector<ClaimRef>& claims, const Response& response) {
  for (const auto& [uid, claim] : response.claims())
    if (std::ranges::find(claims, uid, &ClaimRef::uid) == claims.end())
      return fail(Code::kInternal, "unknown claim UID {} in the response", uid);
  if (response.claims().size() < claims.size())
    return fail(Code::kInternal, "the driver skipped {} ResourceClaims", claims.size() - response.claims().size());
  return {};
}

template <class Device>
PreparedDevice device_of(const Device& in) {
  PreparedDevice out;
  out.request_names.assign(in.request_names().begin(), in.request_names().end());
  out.pool = in.pool_name();
  out.device = in.device_name();
  out.cdi_device_ids.assign(in.cdi_device_ids().begin(), in.cdi_device_ids().end());
  if constexpr (requires { in.share_id(); }) out.share_id = in.share_id();
  return out;
}

template <class Version>
Result<PrepareAnswers> prepare(const DriverClients& clients, const std::vector<ClaimRef>& claims,
                               std::chrono::milliseconds limit) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  typename Version::PrepareResponse response;
  const auto status = Version::stub(clients).NodePrepareResources(
      &context, request_for<typename Version::PrepareRequest>(claims), &response);
  if (!status.ok()) return std::unexpected(to_status(status).error());
  if (auto checked = check_response(claims, response); !checked) return std::unexpected(checked.error());
  PrepareAnswers prepared;
  for (const auto& [uid, claim] : response.claims()) {
    auto& out = prepared[uid];
    if (!claim.error().empty()) {
      out = fail(Code::kUnknown, "{}", claim.error());
      continue;
    }
    for (const auto& device : claim.devices()) out->push_back(device_of(device));
  }
  return prepared;
}

template <class Version>
Result<UnprepareAnswers> unprepare(const DriverClients& clients, const std::vector<ClaimRef>& claims,
                                   std::chrono::milliseconds limit) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  typename Version::UnprepareResponse response;
  const auto status = Version::stub(clients).NodeUnprepareResources(
      &context, request_for<typename Version::UnprepareRequest>(claims), &response);
  if (!status.ok()) return std::unexpected(to_status(status).error());
  if (auto checked = check_response(claims, response); !checked) return std::unexpected(checked.error());
  UnprepareAnswers unprepared;
  for (const auto& [uid, claim] : response.claims())
    unprepared[uid] = claim.error().empty() ? Status{} : fail(Code::kUnknown, "{}", claim.error());
  return unprepared;
}

}  // namespace

Result<PrepareAnswers> call_prepare(const DriverClients& clients, const std::string& version,
                                    const std::vector<ClaimRef>& claims, std::chrono::milliseconds limit) {
  return version == "v1.DRAPlugin" ? prepare<V1>(clients, claims, limit) : prepare<V1Beta1>(clients, claims, limit);
}

Result<UnprepareAnswers> call_unprepare(const DriverClients& clients, const std::string& version,
                                        const std::vector<ClaimRef>& claims, std::chrono::milliseconds limit) {
  return version == "v1.DRAPlugin" ? unprepare<V1>(clients, claims, limit) : unprepare<V1Beta1>(clients, claims, limit);
}

}  // namespace cardcage
