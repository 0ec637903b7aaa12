#include "host/apiserver/api_server.h"

#include "host/apiserver/api_parts.h"
#include "host/apiserver/claim_json.h"
#include "host/apiserver/event_json.h"
#include "host/apiserver/object_name.h"
#include "host/model/namespaced_name.h"

namespace cardcage {
namespace {

constexpr const char* kFindVersions = "find the versions of resource.k8s.io";

ApiCall claim_call(ResourceApi version, const std::string& name_space, const std::string& name) {
  return {fmt::format("get ResourceClaim '{}/{}'", name_space, name),
          {.path = fmt::format("/apis/resource.k8s.io/{}/namespaces/{}/resourceclaims/{}", to_string(version),
                               name_space, name),
           .max_body = kMaxObject},
          CallKind::kRead,
          kSpreadOfClaims};
}

std::string events_path() { return fmt::format("/api/v1/namespaces/{}/events", kEventNamespace); }

ApiCall create_call(const NodeEvent& event) {
  return {
      fmt::format("create Event '{}'", event.name),
      {.method = "POST", .path = events_path(), .body = json::serialize(event_to_json(event)), .max_body = kMaxObject},
      CallKind::kCreate};
}

ApiCall update_call(const NodeEvent& event) {
  return {fmt::format("update Event '{}'", event.name),
          {.method = "PATCH",
           .path = events_path() + "/" + event.name,
           .body = json::serialize(event_patch(event)),
           .content_type = "application/merge-patch+json",
           .max_body = kMaxObject},
          CallKind::kUpdate};
}

}  // namespace

Result<std::unique_ptr<ApiServer>> ApiServer::make(asio::io_context& core, Clock& clock, const ApiServerConfig& config,
                                                   const std::string& node) {
  auto credentials = config.kubeconfig.empty()
                         ? Credentials::from_service_account(clock, ServiceAccountPlaces::of_pod())
                         : Credentials::from_kubeconfig(clock, config.kubeconfig);
  if (!credentials) return within(credentials.error(), "API server");
  std::optional<ClaimLabelling> labelling;
  if (auto lease = parse_namespaced_name(config.claim_labels))
    labelling = {std::move(lease->name_space), std::move(lease->rest), node};
  return std::make_unique<ApiServer>(core, clock, std::move(*credentials), ApiPace{config.request_timeout},
                                     std::move(labelling));
}

ApiServer::ApiServer(asio::io_context& core, Clock& clock, Credentials credentials, ApiPace pace,
                     std::optional<ClaimLabelling> labelling)
    : core_(core),
      clock_(clock),
      session_(core, clock, std::move(credentials), pace),
      labelling_(std::move(labelling)),
      labelled_claims_(core, clock, [this] { return read_renewal(); }),
      versions_(core, clock, kFindVersions, Duration::zero()) {}

Task<Result<ResourceApi>> ApiServer::discover(Instant deadline) {
  if (version_) co_return *version_;
  SharedCall<ResourceApi>::Call call = [&] { return find_version(deadline); };
  co_return co_await versions_.get(std::move(call), deadline);
}

Task<Result<ResourceApi>> ApiServer::find_version(Instant deadline) {
  ApiCall group{kFindVersions, {.path = "/apis/resource.k8s.io"}, CallKind::kRead, kSpreadOfClaims};
  const auto body = co_await session_.call(std::move(group), deadline);
  const auto response = parse_response(body);
  if (!response && response.error().code != Code::kUnimplemented && response.error().code != Code::kNotFound)
    co_return std::unexpected(response.error());
  if (response) {
    for (const auto version : {ResourceApi::kV1, ResourceApi::kV1beta2, ResourceApi::kV1beta1}) {
      for (const auto& item : array_at(as_object(*response), "versions")) {
        if (text_at(as_object(item), "version") != to_string(version)) continue;
        version_ = version;
        co_return version;
      }
    }
  }
  co_return fail(Code::kUnimplemented,
                 "the API server serves none of resource.k8s.io v1, v1beta2, v1beta1; Kubernetes 1.34 does by default, "
                 "1.32 and 1.33 do with --runtime-config and the gate DynamicResourceAllocation");
}

Task<Result<std::string>> ApiServer::call(MakeCall make, Instant deadline) {
  for (bool again = false;; again = true) {
    const auto version = co_await discover(deadline);
    if (!version) co_return std::unexpected(version.error());
    ApiCall made = make(*version);
    auto body = co_await session_.call(std::move(made), deadline);
    if (body || body.error().code != Code::kUnimplemented || again) co_return body;
    if (version_ == *version) version_.reset();
  }
}

Task<Result<Claim>> ApiServer::get_claim(std::string name_space, std::string name, Instant deadline) {
  if (auto valid = check_namespace(name_space); !valid) co_return std::unexpected(valid.error());
  if (auto valid = check_object_name(name, "ResourceClaim name"); !valid) co_return std::unexpected(valid.error());
  MakeCall make = [&](ResourceApi version) { return claim_call(version, name_space, name); };
  const auto body = co_await call(std::move(make), deadline);
  const auto response = parse_response(body);
  if (!response) co_return std::unexpected(response.error());
  co_return claim_from_json(*response);
}

Task<Result<PodClaims>> ApiServer::get_pod_claims(std::string name_space, std::string pod, Instant deadline) {
  if (auto valid = check_namespace(name_space); !valid) co_return std::unexpected(valid.error());
  if (auto valid = check_object_name(pod, "Pod name"); !valid) co_return std::unexpected(valid.error());
  ApiCall get{fmt::format("get Pod '{}/{}'", name_space, pod),
              {.path = fmt::format("/api/v1/namespaces/{}/pods/{}", name_space, pod), .max_body = kMaxObject},
              CallKind::kRead,
              kSpreadOfClaims};
  const auto body = co_await session_.call(std::move(get), deadline);
  const auto response = parse_response(body);
  if (!response) co_return std::unexpected(response.error());
  co_return pod_claims_from_json(*response);
}

Task<Result<ClusterNode>> ApiServer::get_node(std::string node_name, Instant deadline) {
  const std::string what = fmt::format("get Node '{}'", node_name);
  SharedCall<ClusterNode>::Call call = [&] { return read_node(node_name, deadline); };
  co_return co_await nodes_.try_emplace(node_name, core_, clock_, what, kSharedReads)
      .first->second.get(std::move(call), deadline);
}

Task<Result<ClusterNode>> ApiServer::read_node(std::string node_name, Instant deadline) {
  if (auto valid = check_object_name(node_name, "node name"); !valid) co_return std::unexpected(valid.error());
  ApiCall get{.what = fmt::format("get Node '{}'", node_name),
              .request = {.path = "/api/v1/nodes/" + node_name},
              .unhurried = true};
  const auto body = co_await session_.call(std::move(get), deadline);
  const auto response = parse_response(body);
  if (!response) co_return std::unexpected(response.error());
  const auto& object = as_object(*response);
  ClusterNode node{.uid = std::string(text_at(object_at(object, "metadata"), "uid")), .declared_features = {}};
  if (node.uid.empty()) co_return fail(Code::kInternal, "Node '{}' has no metadata.uid", node_name);
  const auto& status = object_at(object, "status");
  for (const auto& item : array_at(status, "declaredFeatures"))
    if (const auto* feature = item.if_string()) node.declared_features.emplace_back(*feature);
  node.runtime = text_at(object_at(status, "nodeInfo"), "containerRuntimeVersion");
  co_return node;
}

Task<Status> ApiServer::write_event(NodeEvent event, Instant deadline) {
  if (auto valid = check_event(event); !valid) co_return valid;
  const bool repeated = event.count > 1;
  ApiCall expected = repeated ? update_call(event) : create_call(event);
  auto written = co_await session_.call(std::move(expected), deadline);
  // A repetition finds its Event expired, or a create succeeded in an earlier attempt.
  if (!written && written.error().code == (repeated ? Code::kNotFound : Code::kAlreadyExists)) {
    ApiCall other = repeated ? create_call(event) : update_call(event);
    written = co_await session_.call(std::move(other), deadline);
  }
  if (!written) co_return std::unexpected(written.error());
  co_return Status{};
}

}  // namespace cardcage
