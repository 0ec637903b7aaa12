#include "fleet/node_events.h"

#include <algorithm>

#include "fleet/object_key.h"
#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxMessage = 1024;  // the limit of the API

// Components fill in different fields.
std::string_view time_of(const json::object& event) {
  for (const std::string_view time :
       {text_at(object_at(event, "series"), "lastObservedTime"), text_at(event, "lastTimestamp"),
        text_at(event, "eventTime"), text_at(object_at(event, "metadata"), "creationTimestamp")})
    if (!time.empty()) return time;
  return "";
}

std::string node_of(const json::object& event) {
  return std::string(text_at(object_at(event, "involvedObject"), "name"));
}

}  // namespace

void NodeEvents::put(const json::object& event) {
  const Key key{node_of(event), key_of(event)};
  remove(key);
  const std::int64_t in_series = int_at(object_at(event, "series"), "count");
  FleetEvent read{.time = std::string(time_of(event)),
                  .type = std::string(text_at(event, "type")),
                  .reason = std::string(text_at(event, "reason")),
                  .message = cut_utf8(text_at(event, "message"), kMaxMessage),
                  .count = std::max<std::int64_t>({1, in_series, int_at(event, "count")})};
  by_time_.emplace(read.time, key);
  events_.emplace(key, std::move(read));
  if (events_.size() > kMostKept) remove(Key(by_time_.begin()->second));
}

void NodeEvents::remove(const json::object& event) { remove(Key{node_of(event), key_of(event)}); }

void NodeEvents::remove(const Key& key) {
  const auto found = events_.find(key);
  if (found == events_.end()) return;
  by_time_.erase({found->second.time, key});
  events_.erase(found);
}

void NodeEvents::keep(const std::unordered_set<std::string>& seen) {
  std::vector<Key> gone;
  for (const auto& [key, event] : events_)
    if (!seen.contains(key.second)) gone.push_back(key);
  for (const Key& key : gone) remove(key);
}

std::vector<FleetEvent> NodeEvents::of_node(const std::string& node, std::size_t most) const {
  std::vector<FleetEvent> events;
  for (auto at = events_.lower_bound({node, ""}); at != events_.end() && at->first.first == node; ++at)
    events.push_back(at->second);
  std::ranges::sort(events, std::ranges::greater(), &FleetEvent::time);
  if (events.size() > most) events.resize(most);
  return events;
}

}  // namespace cardcage
