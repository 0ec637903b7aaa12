// The latest Events about nodes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/apiserver/json_view.h"

namespace cardcage {

struct FleetEvent {
  std::string time;  // RFC 3339, of the last occurrence
  std::string type, reason, message;
  std::int64_t count = 1;
};

// [core] Keeps a limited number of Events; the oldest go first.
class NodeEvents {
 public:
  static constexpr std::size_t kMostKept = 4000;

  void put(const json::object& event);
  void remove(const json::object& event);
  // Forgets the Events that a complete list does not name. Keys are those of object_key.h.
  void keep(const std::unordered_set<std::string>& seen);

  // The newest first.
  std::vector<FleetEvent> of_node(const std::string& node, std::size_t most) const;

 private:
  using Key = std::pair<std::string, std::string>;  // node; namespace and name of the Event

  void remove(const Key& key);

  std::map<Key, FleetEvent> events_;
  std::set<std::pair<std::string, Key>> by_time_;
};

}  // namespace cardcage
