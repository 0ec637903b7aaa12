#include "tests/fakes/fake_api_objects.h"

#include <algorithm>

#include "host/model/naming.h"

namespace cardcage::fake_api {

namespace json = boost::json;

namespace {

std::string decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      decoded += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace

std::map<std::string, std::string> parse_pairs(std::string_view text, char separator) {
  std::map<std::string, std::string> pairs;
  while (!text.empty()) {
    const auto end = text.find(separator);
    const auto pair = text.substr(0, end);
    const auto equals = pair.find('=');
    pairs[std::string(pair.substr(0, equals))] =
        equals == std::string_view::npos ? "" : decode(pair.substr(equals + 1));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return pairs;
}

std::string text_of(const json::object& object, const char* outer, const char* inner) {
  const auto* value = object.if_contains(outer);
  const auto* nested = value != nullptr && value->is_object() ? value->get_object().if_contains(inner) : nullptr;
  return nested != nullptr && nested->is_string() ? std::string(nested->get_string()) : "";
}

bool has_finalizers(const json::object& object) {
  const auto* metadata = object.if_contains("metadata");
  const auto* finalizers = metadata != nullptr ? metadata->as_object().if_contains("finalizers") : nullptr;
  return finalizers != nullptr && !finalizers->as_array().empty();
}

bool is_part_of(const std::string& collection, const std::string& wanted) {
  return collection.starts_with("namespaces/") && collection.ends_with("/" + wanted);
}

json::object labels_of(const json::object& object) {
  const auto* labels = object.at("metadata").as_object().if_contains("labels");
  return labels != nullptr && labels->is_object() ? labels->get_object() : json::object();
}

bool has_labels(const std::map<std::string, std::string>& query, const json::object& labels) {
  const auto selector = query.find("labelSelector");
  if (selector == query.end()) return true;
  return std::ranges::all_of(parse_pairs(selector->second, ','), [&](const auto& wanted) {
    const auto* value = labels.if_contains(wanted.first);
    if (value == nullptr || !value->is_string()) return false;
    return wanted.second.empty() || value->get_string() == wanted.second;
  });
}

std::string refusal_of_event(const std::string& collection, const json::object& event) {
  const auto text = [&](const char* field) {
    const auto* value = event.if_contains(field);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
  };
  if (collection != "namespaces/" + text_of(event, "metadata", "namespace") + "/events")
    return "the namespace of the provided object does not match the namespace sent on the request";
  // A Node has no namespace, so its Events are in this one.
  if (!text_of(event, "involvedObject", "namespace").empty() || text_of(event, "metadata", "namespace") != "default")
    return "involvedObject.namespace: Invalid value: does not match event.namespace";
  if (!is_dns_subdomain(text_of(event, "metadata", "name"))) return "metadata.name: Invalid value";
  if (text("type") != "Normal" && text("type") != "Warning") return "type: has invalid value";
  if (text("reason").empty() || text("reason").size() > 128) return "reason: can have at most 128 characters";
  if (text("message").size() > 1024) return "message: can have at most 1024 characters";
  if (!is_label_key(text("reportingComponent")) || text("reportingInstance").empty()) return "reportingComponent";
  const auto* count = event.if_contains("count");
  return count != nullptr && count->is_int64() ? "" : "count is not a number";
}

void merge(json::object& object, const json::object& changes) {
  for (const auto& [key, change] : changes) {
    if (change.is_null())
      object.erase(key);
    else if (change.is_object()) {
      json::value& member = object[key];
      merge(member.is_object() ? member.get_object() : member.emplace_object(), change.get_object());
    } else
      object[key] = change;
  }
}

}  // namespace cardcage::fake_api
