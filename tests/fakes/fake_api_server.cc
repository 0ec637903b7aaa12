#include "tests/fakes/fake_api_server.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "tests/fakes/fake_api_objects.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using fake_api::has_finalizers;
using fake_api::has_labels;
using fake_api::is_part_of;
using fake_api::labels_of;
using fake_api::parse_pairs;
using fake_api::refusal_of_event;
using fake_api::text_of;

std::string status_body(unsigned code, std::string_view reason, std::string_view message, std::string_view name,
                        json::array causes = {}) {
  return json::serialize(json::object{{"kind", "Status"},
                                      {"apiVersion", "v1"},
                                      {"status", "Failure"},
                                      {"message", message},
                                      {"reason", reason},
                                      {"details", json::object{{"name", name}, {"causes", std::move(causes)}}},
                                      {"code", code}});
}

// The key of an entry of status.devices.
std::string key_of_device(const json::value& entry) {
  std::string key;
  for (const char* field : {"driver", "pool", "device", "shareID"})
    if (const auto* text = entry.as_object().if_contains(field)) key += std::string(text->as_string()) + "\n";
  return key;
}

void drop(json::value& value, const std::string& field) {
  if (auto* array = value.if_array()) {
    for (auto& item : *array) drop(item, field);
  } else if (auto* object = value.if_object()) {
    object->erase(field);
    for (auto& [key, item] : *object) drop(item, field);
  }
}

bool selected(const std::map<std::string, std::string>& query, const std::string& driver, const std::string& node) {
  const auto selector = query.find("fieldSelector");
  if (selector == query.end()) return true;
  for (const auto& [key, value] : parse_pairs(selector->second, ',')) {
    if (key == "spec.driver" && value != driver) return false;
    if (key == "spec.nodeName" && value != node) return false;
  }
  return true;
}

}  // namespace

FakeApiServer::FakeApiServer(std::vector<std::string> versions)
    : versions_(std::move(versions)),
      server_(TestCertificates::make(), [this](Exchange exchange) { return handle(*this, std::move(exchange)); }) {}

FakeApiServer::~FakeApiServer() = default;

void FakeApiServer::put(std::string collection, json::object object) {
  server_.run([&] {
    const auto name = text_of(object, "metadata", "name");
    store(collection, objects_[collection].contains(name) ? "MODIFIED" : "ADDED", std::move(object));
  });
}

std::optional<json::object> FakeApiServer::get(std::string collection, std::string name) {
  return server_.run([&]() -> std::optional<json::object> {
    const auto found = objects_[collection].find(name);
    if (found == objects_[collection].end()) return std::nullopt;
    return found->second;
  });
}

void FakeApiServer::remove(std::string collection, std::string name) {
  server_.run([&] { drop_or_mark(collection, objects_[collection].at(name)); });
}

std::vector<std::string> FakeApiServer::names(std::string collection) {
  return server_.run([&] {
    std::vector<std::string> names;
    for (const auto& [name, object] : objects_[collection]) names.push_back(name);
    return names;
  });
}

void FakeApiServer::serve_versions(std::vector<std::string> versions) {
  server_.run([&] { versions_ = std::move(versions); });
}
void FakeApiServer::require_token(std::string token) {
  server_.run([&] { token_ = std::move(token); });
}
void FakeApiServer::drop_field(std::string field) {
  server_.run([&] { dropped_.push_back(std::move(field)); });
}
void FakeApiServer::inject(Fault fault) {
  server_.run([&] { faults_.push_back(std::move(fault)); });
}

void FakeApiServer::bookmark() {
  server_.run([&] {
    const json::object object{{"kind", "ResourceSlice"},
                              {"metadata", json::object{{"resourceVersion", std::to_string(++version_)}}}};
    publish({version_, "", json::serialize(json::object{{"type", "BOOKMARK"}, {"object", object}}) + "\n", "", ""});
  });
}
void FakeApiServer::send_to_watches(std::string text) {
  server_.run([&] { publish({++version_, "", std::move(text), "", ""}); });
}
void FakeApiServer::end_watches() {
  server_.run([&] { publish({++version_, "", "", "", ""}); });
}
void FakeApiServer::compact() {
  server_.run([&] { oldest_ = ++version_; });
}
void FakeApiServer::go_back(std::uint64_t version) {
  server_.run([&] {
    version_ = version;
    oldest_ = std::min(oldest_, version);
    std::erase_if(events_, [&](const Event& event) { return event.version > version; });
  });
}
std::size_t FakeApiServer::watches() {
  return server_.run([&] { return watches_.size(); });
}
std::vector<HttpsRequest> FakeApiServer::requests() {
  return server_.run([&] { return requests_; });
}

std::optional<Fault> FakeApiServer::take_fault(const HttpsRequest& request) {
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (!fault->method.empty() && fault->method != request.method) continue;
    if (request.target.find(fault->target) == std::string::npos) continue;
    const Fault taken = *fault;
    if (--fault->times == 0) faults_.erase(fault);
    return taken;
  }
  return std::nullopt;
}

std::optional<FakeApiServer::Target> FakeApiServer::parse(const std::string& text) const {
  const auto question = text.find('?');
  std::string path = text.substr(0, question);
  Target target;
  if (question != std::string::npos) target.query = parse_pairs(text.substr(question + 1), '&');
  if (path.starts_with("/api/v1/")) {
    path = path.substr(8);
  } else if (const std::string leases = "/apis/coordination.k8s.io/v1/"; path.starts_with(leases)) {
    path = path.substr(leases.size());
  } else {
    const std::string prefix = "/apis/resource.k8s.io/", nvidia = "/apis/resource.nvidia.com/v1beta1/";
    if (path.starts_with(nvidia)) {
      path = path.substr(nvidia.size());
    } else {
      if (!path.starts_with(prefix)) return std::nullopt;
      const auto slash = path.find('/', prefix.size());
      target.version = path.substr(prefix.size(), slash - prefix.size());
      if (slash == std::string::npos || std::ranges::find(versions_, target.version) == versions_.end())
        return std::nullopt;
      path = path.substr(slash + 1);
    }
  }
  target.status = path.ends_with("/status");
  if (target.status) path.resize(path.size() - std::string_view("/status").size());
  const bool has_name = std::ranges::count(path, '/') % 2 == 1;
  const auto slash = path.rfind('/');
  target.collection = has_name ? path.substr(0, slash) : path;
  target.name = has_name ? path.substr(slash + 1) : "";
  return target;
}

Task<void> FakeApiServer::handle(FakeApiServer& fake, Exchange exchange) {
  const HttpsRequest& request = exchange->request;
  fake.requests_.push_back(request);
  if (!fake.token_.empty() && request.authorization != "Bearer " + fake.token_) {
    std::string body = status_body(401, "Unauthorized", "Unauthorized", "");
    co_await exchange->respond(401, std::move(body));
    co_return;
  }
  if (auto fault = fake.take_fault(request)) {
    co_await misbehave(fake, exchange, std::move(*fault));
    co_return;
  }
  auto target = fake.parse(request.target);
  if (target && target->query.contains("watch")) {
    co_await watch(fake, exchange, std::move(*target));
    co_return;
  }
  Response response{404, "404 page not found\n"};
  if (auto reviewed = fake.review(request))
    response = std::move(*reviewed);
  else if (request.target == "/apis/resource.k8s.io")
    response = fake.groups();
  else if (target)
    response = fake.execute(request, *target);
  co_await exchange->respond(response.status, std::move(response.body));
}

Task<void> FakeApiServer::misbehave(FakeApiServer& fake, Exchange exchange, Fault fault) {
  const HttpsRequest& request = exchange->request;
  Response response{fault.status, ""};
  if (fault.kind == Fault::Kind::kStatus) {
    if (fault.message.empty()) fault.message = fmt::format("injected fault {}", fault.status);
    response.body = status_body(fault.status, "Injected", fault.message, "x", fault.causes);
  } else if (fault.kind == Fault::Kind::kHuge) {
    response = {200, std::string(std::size_t{32} << 20, ' ')};
  } else if (fault.kind == Fault::Kind::kSilence) {
    co_await exchange->closed();
    exchange->reset();
    co_return;
  } else if (fault.kind == Fault::Kind::kReset) {
    exchange->reset();
    co_return;
  } else {
    const auto target = fake.parse(request.target);
    response = target ? fake.execute(request, *target) : fake.groups();
  }
  if (fault.kind == Fault::Kind::kActAndReset) {
    exchange->reset();
    co_return;
  }
  if (fault.kind == Fault::Kind::kTruncate) response.body.resize(response.body.size() / 2);
  if (fault.kind == Fault::Kind::kDelay) {
    asio::steady_timer timer(fake.server_.context(), std::chrono::milliseconds(100));
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_await exchange->respond(response.status, std::move(response.body), std::move(fault.headers));
}

Task<void> FakeApiServer::watch(FakeApiServer& fake, Exchange exchange, Target target) {
  using namespace asio::experimental::awaitable_operators;
  co_await exchange->begin();
  const auto from = target.query["resourceVersion"];
  if (!from.empty() && std::stoull(from) < fake.oldest_) {
    std::string gone =
        fmt::format(R"({{"type":"ERROR","object":{}}})", status_body(410, "Expired", "too old resource version", ""));
    co_await exchange->text(gone + "\n");
    co_await exchange->end();
    co_return;
  }
  co_await (send_events(fake, exchange, std::move(target)) || exchange->closed());
}

Task<void> FakeApiServer::send_events(FakeApiServer& fake, Exchange exchange, Target target) {
  asio::steady_timer news(fake.server_.context(), Instant::max());
  struct Registered {
    std::vector<asio::steady_timer*>& list;
    asio::steady_timer* timer;
    ~Registered() { std::erase(list, timer); }
  };
  fake.watches_.push_back(&news);
  const Registered registered{fake.watches_, &news};
  const auto from = target.query["resourceVersion"];
  std::uint64_t seen = from.empty() ? 0 : std::stoull(from);
  const std::size_t start = fake.events_.size();  // events from before its start are not sent to this watch
  for (;;) {
    for (std::size_t i = 0; i < fake.events_.size(); ++i) {
      const Event event = fake.events_[i];
      if (event.version <= seen || (i < start && event.collection.empty())) continue;
      seen = event.version;
      if (!event.collection.empty() && !fake.lists(event.collection, target.collection)) continue;
      if (!event.driver.empty() && !selected(target.query, event.driver, event.node_name)) continue;
      if (event.text.empty()) {
        co_await exchange->end();
        co_return;
      }
      const bool matches = has_labels(target.query, event.labels);
      const bool matched = has_labels(target.query, event.labels_before);
      if (!event.collection.empty() && !matches && !matched) continue;
      std::string text = event.text;
      // A change of labels adds an object to a watch, or removes it.
      if (const std::string modified = R"({"type":"MODIFIED")"; matches != matched && text.starts_with(modified))
        text.replace(0, modified.size(), matches ? R"({"type":"ADDED")" : R"({"type":"DELETED")");
      co_await exchange->text(std::move(text));
    }
    boost::system::error_code ignored;
    co_await news.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

void FakeApiServer::publish(Event event) {
  events_.push_back(std::move(event));
  for (auto* watch : watches_) watch->cancel();
}

void FakeApiServer::store(const std::string& collection, const char* type, json::object object) {
  json::value whole(std::move(object));
  for (const auto& field : dropped_) drop(whole, field);
  json::object& stored = whole.get_object();
  auto& metadata = stored["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata.get_object()["resourceVersion"] = std::to_string(++version_);
  if (!metadata.get_object().contains("uid")) metadata.get_object()["uid"] = fmt::format("uid-{}", ++created_);
  const auto name = text_of(stored, "metadata", "name");
  Event event{version_, collection, json::serialize(json::object{{"type", type}, {"object", stored}}) + "\n",
              text_of(stored, "spec", "driver"), text_of(stored, "spec", "nodeName")};
  event.labels = labels_of(stored);
  if (const auto before = objects_[collection].find(name); before != objects_[collection].end())
    event.labels_before = labels_of(before->second);
  if (std::string_view(type) == "DELETED")
    objects_[collection].erase(name);
  else
    objects_[collection][name] = std::move(stored);
  publish(std::move(event));
}

// An object with finalizers is only marked; it goes when the last of them does.
void FakeApiServer::drop_or_mark(const std::string& collection, json::object object) {
  if (!has_finalizers(object)) {
    store(collection, "DELETED", std::move(object));
    return;
  }
  object["metadata"].as_object()["deletionTimestamp"] = "2027-01-15T08:00:00Z";
  store(collection, "MODIFIED", std::move(object));
}

FakeApiServer::Response FakeApiServer::groups() const {
  if (versions_.empty()) return {404, "404 page not found\n"};
  json::array versions;
  for (const auto& version : versions_)
    versions.push_back(json::object{{"groupVersion", "resource.k8s.io/" + version}, {"version", version}});
  return {200,
          json::serialize(json::object{{"kind", "APIGroup"}, {"name", "resource.k8s.io"}, {"versions", versions}})};
}

FakeApiServer::Response FakeApiServer::execute(const HttpsRequest& request, Target target) {
  json::error_code failure;
  const auto body = json::parse(request.body.empty() ? "{}" : request.body, failure);
  if (failure || !body.is_object()) return {400, status_body(400, "BadRequest", "not a JSON object", target.name)};
  const auto& object = body.get_object();
  if (request.method == "POST") return create(target, object);
  // Tests put the claims that a client lists into one collection for all namespaces.
  if (target.collection.ends_with("/resourceclaims") && objects_["resourceclaims"].contains(target.name))
    target.collection = "resourceclaims";
  if (target.name.empty()) return request.accept.contains("as=Table") ? table(target) : list(target);
  const auto found = objects_[target.collection].find(target.name);
  if (found == objects_[target.collection].end())
    return {404, status_body(404, "NotFound", fmt::format("{} \"{}\" not found", target.collection, target.name),
                             target.name)};
  if (request.method == "PUT") return update(target, object);
  if (request.method == "PATCH" && target.status) return apply_status(target, request, object);
  if (request.method == "PATCH") return patch(target, request, object);
  if (request.method == "DELETE") return erase(target, object);
  return {200, json::serialize(found->second)};
}

bool FakeApiServer::lists(const std::string& collection, const std::string& wanted) const {
  const auto own = objects_.find(wanted);
  return collection == wanted || (is_part_of(collection, wanted) && (own == objects_.end() || own->second.empty()));
}

FakeApiServer::Response FakeApiServer::list(const Target& target) const {
  const auto at_least = target.query.contains("resourceVersion") ? std::stoull(target.query.at("resourceVersion")) : 0;
  if (at_least > version_)
    return {504,
            status_body(
                504, "Timeout", fmt::format("Timeout: Too large resource version: {}, current: {}", at_least, version_),
                "", {json::object{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}})};
  json::array items;
  const auto limit = target.query.contains("limit") ? std::stoul(target.query.at("limit")) : 0;
  const auto from = target.query.contains("continue") ? target.query.at("continue") : "";
  json::object metadata{{"resourceVersion", std::to_string(version_)}};
  std::map<std::string, const json::object*> found;  // by name, below the collections of namespaces by namespace first
  for (const auto& [collection, objects] : objects_)
    if (lists(collection, target.collection))
      for (const auto& [name, object] : objects)
        found[collection == target.collection ? name : collection + "/" + name] = &object;
  for (const auto& [name, object] : found) {
    if (name < from || !has_labels(target.query, labels_of(*object)) ||
        !selected(target.query, text_of(*object, "spec", "driver"), text_of(*object, "spec", "nodeName")))
      continue;
    if (limit > 0 && items.size() == limit) {
      metadata["continue"] = name;
      break;
    }
    items.push_back(*object);
  }
  return {200, json::serialize(json::object{{"kind", "List"}, {"metadata", metadata}, {"items", items}})};
}

// A table of ResourceSlices, as the API server prints it for kubectl.
FakeApiServer::Response FakeApiServer::table(const Target& target) const {
  json::array columns, rows;
  for (const char* column : {"Name", "Node", "Driver", "Pool", "Age"})
    columns.push_back(json::object{{"name", column}, {"type", "string"}});
  const auto collection = objects_.find(target.collection);
  if (collection != objects_.end())
    for (const auto& [name, object] : collection->second) {
      const auto driver = text_of(object, "spec", "driver"), node = text_of(object, "spec", "nodeName");
      if (!selected(target.query, driver, node)) continue;
      const auto pool = std::string(object.at("spec").at("pool").at("name").as_string());
      rows.push_back(json::object{{"cells", json::array{name, node, driver, pool, "5m"}}, {"object", nullptr}});
    }
  return {200, json::serialize(json::object{{"kind", "Table"}, {"columnDefinitions", columns}, {"rows", rows}})};
}

FakeApiServer::Response FakeApiServer::create(const Target& target, json::object object) {
  auto name = text_of(object, "metadata", "name");
  if (name.empty()) {
    name = fmt::format("{}{:05}", text_of(object, "metadata", "generateName"), ++created_);
    object["metadata"].get_object()["name"] = name;
  }
  if (target.collection.ends_with("/events"))
    if (const auto refusal = refusal_of_event(target.collection, object); !refusal.empty())
      return {422, status_body(422, "Invalid", refusal, name)};
  if (objects_[target.collection].contains(name))
    return {409, status_body(409, "AlreadyExists", fmt::format("\"{}\" already exists", name), name)};
  store(target.collection, "ADDED", std::move(object));
  return {201, json::serialize(objects_[target.collection][name])};
}

FakeApiServer::Response FakeApiServer::update(const Target& target, json::object object) {
  const auto& stored = objects_[target.collection][target.name];
  if (text_of(stored, "metadata", "resourceVersion") != text_of(object, "metadata", "resourceVersion"))
    return {409, status_body(409, "Conflict", "the object has been modified", target.name)};
  if (!text_of(stored, "metadata", "deletionTimestamp").empty() && !has_finalizers(object)) {
    store(target.collection, "DELETED", object);
    return {200, json::serialize(object)};
  }
  store(target.collection, "MODIFIED", std::move(object));
  return {200, json::serialize(objects_[target.collection][target.name])};
}

FakeApiServer::Response FakeApiServer::patch(const Target& target, const HttpsRequest& request,
                                             const json::object& changes) {
  if (request.content_type != "application/merge-patch+json")
    return {415, status_body(415, "UnsupportedMediaType", "the body of the request was in an unknown format", "")};
  json::object object = objects_[target.collection][target.name];
  if (const auto uid = text_of(changes, "metadata", "uid"); !uid.empty() && uid != text_of(object, "metadata", "uid"))
    return {409, status_body(409, "Conflict", "the UID in the precondition does not match", target.name)};
  fake_api::merge(object, changes);
  if (target.collection.ends_with("/events"))
    if (const auto refusal = refusal_of_event(target.collection, object); !refusal.empty())
      return {422, status_body(422, "Invalid", refusal, target.name)};
  store(target.collection, "MODIFIED", std::move(object));
  return {200, json::serialize(objects_[target.collection][target.name])};
}

// Server-side apply to status.devices: the manager owns the entries that it applies, and entries that it owned before
// and no longer applies disappear.
FakeApiServer::Response FakeApiServer::apply_status(const Target& target, const HttpsRequest& request,
                                                    const json::object& applied) {
  if (request.content_type != "application/apply-patch+yaml")
    return {415, status_body(415, "UnsupportedMediaType", "the body of the request was in an unknown format", "")};
  const auto manager = target.query.find("fieldManager");
  if (manager == target.query.end())
    return {422, status_body(422, "Invalid", "fieldManager: Required value: is required for apply patch", target.name)};
  json::object object = objects_[target.collection][target.name];
  const auto uid = text_of(object, "metadata", "uid");
  if (text_of(applied, "metadata", "uid") != uid)
    return {422, status_body(422, "Invalid", "metadata.uid: Invalid value: field is immutable", target.name,
                             {json::object{{"reason", "FieldValueInvalid"}, {"field", "metadata.uid"}}})};
  auto& owned = applied_[uid][manager->second];
  std::map<std::string, json::value> entries;
  json::object& status =
      object["status"].is_object() ? object["status"].as_object() : object["status"].emplace_object();
  if (const auto* stored = status.if_contains("devices"))
    for (const auto& entry : stored->as_array())
      if (!owned.contains(key_of_device(entry))) entries[key_of_device(entry)] = entry;
  owned.clear();
  if (applied.contains("status")) {
    for (const auto& entry : applied.at("status").at("devices").as_array()) {
      owned.insert(key_of_device(entry));
      entries[key_of_device(entry)] = entry;
    }
  }
  json::array& devices = status["devices"].emplace_array();
  for (auto& [key, entry] : entries) devices.push_back(std::move(entry));
  store(target.collection, "MODIFIED", std::move(object));
  return {200, json::serialize(objects_[target.collection][target.name])};
}

FakeApiServer::Response FakeApiServer::erase(const Target& target, const json::object& options) {
  const auto stored = objects_[target.collection][target.name];
  for (const char* field : {"uid", "resourceVersion"}) {
    const auto wanted = text_of(options, "preconditions", field);
    if (!wanted.empty() && wanted != text_of(stored, "metadata", field))
      return {409, status_body(409, "Conflict", fmt::format("the {} in the precondition does not match", field),
                               target.name)};
  }
  drop_or_mark(target.collection, stored);
  return {200, json::serialize(json::object{{"kind", "Status"}, {"status", "Success"}})};
}

}  // namespace cardcage
