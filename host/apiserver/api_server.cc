#include "host/apiserver/api_server.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "host/apiserver/claim_json.h"
#include "host/apiserver/event_json.h"
#include "host/apiserver/object_name.h"
#include "host/apiserver/percent_encode.h"
#include "host/apiserver/slice_watch.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxObject = std::size_t{4} << 20;  // etcd holds 1.5 MiB
constexpr std::size_t kMaxWatchBacklog = std::size_t{8} << 20;
// Slices per page of a list; fewer if these slices are larger than kMaxPage together.
constexpr int kPageSize = 50;
constexpr std::size_t kMaxPage = std::size_t{8} << 20;
constexpr std::size_t kMaxSlices = 10'000;
constexpr std::size_t kMaxTable = std::size_t{16} << 20;  // slices of one driver on all nodes
// Short, because a connection that a device in between has forgotten looks like one without news. A watch that follows
// another one costs a request and no list. The times differ so that nodes that lost a server together drift apart.
constexpr int kMinWatchSeconds = 20, kMaxWatchSeconds = 25;
constexpr std::chrono::seconds kWatchGrace{5}, kDiscoverLimit{30};

std::string slices_path(ResourceApi version) {
  return fmt::format("/apis/resource.k8s.io/{}/resourceslices", to_string(version));
}

Result<std::string> selector(std::string_view driver, std::string_view node_name) {
  if (auto valid = check_object_name(driver, "driver name"); !valid) return std::unexpected(valid.error());
  if (auto valid = check_object_name(node_name, "node name"); !valid) return std::unexpected(valid.error());
  return "fieldSelector=" + percent_encode(fmt::format("spec.driver={},spec.nodeName={}", driver, node_name));
}

Result<json::value> parse_answer(const Result<std::string>& body) {
  if (!body) return std::unexpected(body.error());
  auto value = parse_json(*body, "the response of the API server");
  if (!value) value.error().code = Code::kUnavailable;  // it was cut short on the way; a retry may help
  return value;
}

// The only kInternal of a call: its response exceeds the limit of the call.
bool is_too_large(const Error& error) { return error.code == Code::kInternal; }

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): this process never calls setenv
  return value != nullptr ? value : "";
}

// Uses the letters that Kubernetes uses for generated names: they spell no words.
std::string random_suffix() {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string suffix;
  for (int i = 0; i < 8; ++i) suffix += kLetters[letter(random)];
  return suffix;
}

ApiCall list_call(ResourceApi version, std::string_view query) {
  return {"list ResourceSlices", {.path = fmt::format("{}?{}", slices_path(version), query), .max_body = kMaxPage}};
}

// Requests the table that kubectl requests, without the objects.
ApiCall table_call(ResourceApi version, const std::string& driver) {
  const std::string selector = percent_encode("spec.driver=" + driver);
  return {
      "list the pools of ResourceSlices",
      {.path = fmt::format("{}?fieldSelector={}&resourceVersion=0&includeObject=None", slices_path(version), selector),
       .accept = "application/json;as=Table;v=v1;g=meta.k8s.io",
       .max_body = kMaxTable}};
}

// The cells of a row under the columns "Node" and "Pool".
Result<std::vector<PublishedPool>> pools_from_table(const json::object& table) {
  std::size_t column = 0, node = 0, pool = 0, columns = 0;
  for (const auto& definition : array_at(table, "columnDefinitions")) {
    const std::string_view name = text_at(as_object(definition), "name");
    if (name == "Node") node = column, ++columns;
    if (name == "Pool") pool = column, ++columns;
    ++column;
  }
  if (columns != 2) return fail(Code::kUnimplemented, "the API server shows no table with nodes and pools");
  std::vector<PublishedPool> pools;
  for (const auto& row : array_at(table, "rows")) {
    const auto& cells = array_at(as_object(row), "cells");
    const auto text = [&cells](std::size_t i) {
      const json::value* const cell = i < cells.size() ? &cells[i] : nullptr;
      return cell != nullptr && cell->is_string() ? std::string(cell->get_string()) : std::string();
    };
    pools.push_back({text(node), text(pool)});
  }
  return pools;
}

ApiCall create_call(ResourceApi version, const Slice& slice) {
  return {fmt::format("create ResourceSlice '{}'", slice.name),
          {.method = "POST",
           .path = slices_path(version),
           .body = json::serialize(slice_to_json(slice, version)),
           .max_body = kMaxObject},
          CallKind::kCreate};
}

ApiCall update_call(ResourceApi version, const Slice& slice) {
  return {fmt::format("update ResourceSlice '{}'", slice.name),
          {.method = "PUT",
           .path = slices_path(version) + "/" + slice.name,
           .body = json::serialize(slice_to_json(slice, version)),
           .max_body = kMaxObject},
          CallKind::kUpdate};
}

ApiCall delete_call(ResourceApi version, const Slice& slice) {
  json::object preconditions;
  if (!slice.uid.empty()) preconditions["uid"] = slice.uid;
  if (!slice.resource_version.empty()) preconditions["resourceVersion"] = slice.resource_version;
  const json::object options{
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", std::move(preconditions)}};
  return {fmt::format("delete ResourceSlice '{}'", slice.name),
          {.method = "DELETE",
           .path = slices_path(version) + "/" + slice.name,
           .body = json::serialize(options),
           .max_body = kMaxObject},
          CallKind::kDelete};
}

ApiCall claim_call(ResourceApi version, const std::string& name_space, const std::string& name) {
  return {fmt::format("get ResourceClaim '{}/{}'", name_space, name),
          {.path = fmt::format("/apis/resource.k8s.io/{}/namespaces/{}/resourceclaims/{}", to_string(version),
                               name_space, name),
           .max_body = kMaxObject}};
}

ApiCall watch_call(ResourceApi version, const std::string& selector, const std::string& since,
                   std::chrono::seconds time) {
  return {"watch ResourceSlices",
          {.path = fmt::format("{}?{}&watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                               slices_path(version), selector, time.count(), percent_encode(since)),
           .max_body = kMaxWatchBacklog}};
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

Result<std::unique_ptr<ApiServer>> ApiServer::make(asio::io_context& core, Clock& clock,
                                                   const ApiServerConfig& config) {
  auto credentials = config.kubeconfig.empty()
                         ? Credentials::from_service_account(clock, {from_environment("KUBERNETES_SERVICE_HOST"),
                                                                     from_environment("KUBERNETES_SERVICE_PORT")})
                         : Credentials::from_kubeconfig(clock, config.kubeconfig);
  if (!credentials) return within(credentials.error(), "API server");
  return std::make_unique<ApiServer>(core, clock, std::move(*credentials), ApiPace{config.request_timeout});
}

ApiServer::ApiServer(asio::io_context& core, Clock& clock, Credentials credentials, ApiPace pace)
    : clock_(clock), session_(core, clock, std::move(credentials), pace) {}

Task<Result<ResourceApi>> ApiServer::discover(Instant deadline) {
  if (version_) co_return *version_;
  ApiCall group{"find the versions of resource.k8s.io", {.path = "/apis/resource.k8s.io"}};
  const auto body = co_await session_.call(std::move(group), deadline);
  const auto answer = parse_answer(body);
  if (!answer && answer.error().code != Code::kUnimplemented && answer.error().code != Code::kNotFound)
    co_return std::unexpected(answer.error());
  if (answer) {
    for (const auto version : {ResourceApi::kV1, ResourceApi::kV1beta2, ResourceApi::kV1beta1}) {
      for (const auto& item : array_at(as_object(*answer), "versions")) {
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
  const auto answer = parse_answer(body);
  if (!answer) co_return std::unexpected(answer.error());
  co_return claim_from_json(*answer);
}

Task<Result<PodClaims>> ApiServer::get_pod_claims(std::string name_space, std::string pod, Instant deadline) {
  if (auto valid = check_namespace(name_space); !valid) co_return std::unexpected(valid.error());
  if (auto valid = check_object_name(pod, "Pod name"); !valid) co_return std::unexpected(valid.error());
  ApiCall get{fmt::format("get Pod '{}/{}'", name_space, pod),
              {.path = fmt::format("/api/v1/namespaces/{}/pods/{}", name_space, pod), .max_body = kMaxObject}};
  const auto body = co_await session_.call(std::move(get), deadline);
  const auto answer = parse_answer(body);
  if (!answer) co_return std::unexpected(answer.error());
  co_return pod_claims_from_json(*answer);
}

Task<Result<ClusterNode>> ApiServer::get_node(std::string node_name, Instant deadline) {
  if (auto valid = check_object_name(node_name, "node name"); !valid) co_return std::unexpected(valid.error());
  ApiCall get{fmt::format("get Node '{}'", node_name), {.path = "/api/v1/nodes/" + node_name}};
  const auto body = co_await session_.call(std::move(get), deadline);
  const auto answer = parse_answer(body);
  if (!answer) co_return std::unexpected(answer.error());
  const auto& object = as_object(*answer);
  ClusterNode node{.uid = std::string(text_at(object_at(object, "metadata"), "uid")), .declared_features = {}};
  if (node.uid.empty()) co_return fail(Code::kInternal, "Node '{}' has no metadata.uid", node_name);
  const auto& status = object_at(object, "status");
  for (const auto& item : array_at(status, "declaredFeatures"))
    if (const auto* feature = item.if_string()) node.declared_features.emplace_back(*feature);
  node.runtime = text_at(object_at(status, "nodeInfo"), "containerRuntimeVersion");
  co_return node;
}

// Adds a page to the list and returns where the next one begins; empty after the last.
Task<Result<std::string>> ApiServer::list_page(std::string query, SliceList& list, Instant deadline) {
  MakeCall make = [&](ResourceApi version) { return list_call(version, query); };
  const auto body = co_await call(std::move(make), deadline);
  const auto answer = parse_answer(body);
  if (!answer) co_return std::unexpected(answer.error());
  const auto& page = as_object(*answer);
  const auto items = items_of(page);
  if (!items) co_return std::unexpected(items.error());
  for (const auto& item : **items) {
    auto slice = slice_from_json(item);
    if (!slice) co_return std::unexpected(slice.error());
    list.slices.push_back(std::move(*slice));
  }
  if (list.slices.size() > kMaxSlices)
    co_return fail(Code::kFailedPrecondition, "the API server lists more than {} ResourceSlices of one node",
                   kMaxSlices);
  list.resource_version = text_at(object_at(page, "metadata"), "resourceVersion");
  co_return std::string(text_at(object_at(page, "metadata"), "continue"));
}

Task<Result<SliceList>> ApiServer::list_pages(std::string selector, Instant deadline) {
  SliceList list;
  std::string next;
  for (int size = kPageSize; clock_.now() < deadline;) {
    std::string query = fmt::format("{}&limit={}", selector, size);
    if (!next.empty()) query += "&continue=" + percent_encode(next);
    auto after = co_await list_page(std::move(query), list, deadline);
    if (after && after->empty()) co_return list;
    if (after)
      next = std::move(*after);
    else if (is_too_large(after.error()) && size > 1)
      size = std::max(1, size / 4);
    else
      co_return std::unexpected(after.error());
  }
  co_return fail(Code::kUnavailable, "list ResourceSlices: the deadline passed between two pages");
}

// Reads the server's cache, which loads neither etcd nor other nodes. The cache ignores page sizes.
Task<Result<SliceList>> ApiServer::list_cached(std::string selector, Instant deadline) {
  SliceList list;
  const auto end = co_await list_page(selector + "&resourceVersion=0", list, deadline);
  if (!end) co_return std::unexpected(end.error());
  co_return list;
}

Task<Result<SliceList>> ApiServer::list_slices(std::string driver, std::string node_name, Instant deadline) {
  const auto query = selector(driver, node_name);
  if (!query) co_return std::unexpected(query.error());
  if (!listed_.contains(*query)) {
    auto cached = co_await list_cached(*query, deadline);
    if (cached) listed_.insert(*query);
    if (cached || !is_too_large(cached.error())) co_return cached;
  }
  auto list = co_await list_pages(*query, deadline);
  if (!list && list.error().code == Code::kOutOfRange) list = co_await list_pages(*query, deadline);
  if (list) listed_.insert(*query);
  co_return list;
}

Task<Result<std::vector<PublishedPool>>> ApiServer::list_pools(std::string driver, Instant deadline) {
  if (auto valid = check_object_name(driver, "driver name"); !valid) co_return std::unexpected(valid.error());
  MakeCall make = [&driver](ResourceApi version) { return table_call(version, driver); };
  const auto body = co_await call(std::move(make), deadline);
  const auto answer = parse_answer(body);
  if (!answer) co_return std::unexpected(answer.error());
  co_return pools_from_table(as_object(*answer));
}

Task<Result<Slice>> ApiServer::write_slice(MakeCall make, Instant deadline) {
  const auto body = co_await call(std::move(make), deadline);
  const auto answer = parse_answer(body);
  if (!answer) co_return std::unexpected(answer.error());
  co_return slice_from_json(*answer);
}

Task<Result<Slice>> ApiServer::create_slice(Slice slice, Instant deadline) {
  // The server could add the suffix, but libcurl repeats a request if a reused connection breaks. With a name chosen
  // here, the repeated request fails with 409 instead of creating a second slice.
  if (slice.name.empty()) slice.name = slice.generate_name + random_suffix();
  MakeCall make = [&slice](ResourceApi version) { return create_call(version, slice); };
  auto stored = co_await write_slice(std::move(make), deadline);
  co_return stored;
}

Task<Result<Slice>> ApiServer::update_slice(Slice slice, Instant deadline) {
  if (auto valid = check_object_name(slice.name, "ResourceSlice name"); !valid)
    co_return std::unexpected(valid.error());
  MakeCall make = [&slice](ResourceApi version) { return update_call(version, slice); };
  auto stored = co_await write_slice(std::move(make), deadline);
  co_return stored;
}

Task<Status> ApiServer::delete_slice(Slice slice, Instant deadline) {
  if (auto valid = check_object_name(slice.name, "ResourceSlice name"); !valid)
    co_return std::unexpected(valid.error());
  MakeCall make = [&slice](ResourceApi version) { return delete_call(version, slice); };
  const auto body = co_await call(std::move(make), deadline);
  if (!body && body.error().code != Code::kNotFound) co_return std::unexpected(body.error());
  co_return Status{};
}

Task<Status> ApiServer::watch_slices(std::string driver, std::string node_name, std::string& version,
                                     std::function<void(SliceEvent)> on_event) {
  const auto query = selector(driver, node_name);
  if (!query) co_return std::unexpected(query.error());
  const auto api = co_await discover(clock_.now() + kDiscoverLimit);
  if (!api) co_return std::unexpected(api.error());
  const std::chrono::seconds time(std::uniform_int_distribution(kMinWatchSeconds, kMaxWatchSeconds)(random_));
  ApiCall watch = watch_call(*api, *query, version, time);
  std::function<Status(std::string_view)> deliver = [&version, &on_event](std::string_view line) {
    return deliver_watch_event(line, version, on_event);
  };
  auto ended = co_await session_.stream(std::move(watch), time + kWatchGrace, std::move(deliver));
  if (!ended && ended.error().code == Code::kUnimplemented && version_ == *api) version_.reset();
  co_return ended;
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
