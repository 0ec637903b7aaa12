#include "fleet/node_pages.h"

#include <algorithm>

#include "fleet/object_key.h"
#include "host/apiserver/percent_encode.h"
#include "host/model/namespaced_name.h"

namespace cardcage {
namespace {

constexpr std::int64_t kMostPort = 65535;

std::string node_of_pod(const json::object& pod) { return std::string(text_at(object_at(pod, "spec"), "nodeName")); }

bool is_ready(const json::object& pod) {
  if (!text_at(object_at(pod, "metadata"), "deletionTimestamp").empty()) return false;
  return std::ranges::any_of(array_at(object_at(pod, "status"), "conditions"), [](const json::value& item) {
    const json::object& condition = as_object(item);
    return text_at(condition, "type") == "Ready" && text_at(condition, "status") == "True";
  });
}

// Returns 0 if no container has a port with this name.
std::uint16_t https_port(const json::object& pod) {
  for (const json::value& container : array_at(object_at(pod, "spec"), "containers"))
    for (const json::value& port : array_at(as_object(container), "ports")) {
      const std::int64_t number = int_at(as_object(port), "containerPort");
      if (text_at(as_object(port), "name") == "https" && number > 0 && number <= kMostPort)
        return static_cast<std::uint16_t>(number);
    }
  return 0;
}

}  // namespace

Result<PodsPlace> parse_pods_place(std::string_view text) {
  auto parts = split_namespace(text);
  if (!parts)
    return fail(Code::kInvalidArgument, "'{}' must be NAMESPACE/SELECTOR, such as 'cardcage/app=cardcage-web'", text);
  return PodsPlace{.name_space = std::move(parts->name_space), .selector = std::move(parts->rest)};
}

WatchedKind NodePages::kind(const PodsPlace& place) {
  return {.what = "Pods of the nodes' pages",
          .paths = {fmt::format("/api/v1/namespaces/{}/pods", place.name_space)},
          .selector = "labelSelector=" + percent_encode(place.selector),
          .page = 100};
}

std::optional<NodePages::Page> NodePages::of_node(const std::string& node) const {
  const auto found = ports_.lower_bound({node, ""});
  if (found == ports_.end() || found->first.first != node) return std::nullopt;
  return Page{found->first.second, found->second};
}

std::string NodePages::key(const json::object& pod) const { return name_of(pod); }

void NodePages::put(const json::object& pod) {
  const std::uint16_t port = is_ready(pod) ? https_port(pod) : 0;
  if (port == 0 || node_of_pod(pod).empty()) return remove(pod);
  if (std::exchange(ports_[{node_of_pod(pod), name_of(pod)}], port) != port) changed_();
}

void NodePages::remove(const json::object& pod) {
  if (ports_.erase({node_of_pod(pod), name_of(pod)}) > 0) changed_();
}

void NodePages::keep(const std::unordered_set<std::string>& names) {
  if (std::erase_if(ports_, [&](const auto& known) { return !names.contains(known.first.second); }) > 0) changed_();
}

}  // namespace cardcage
