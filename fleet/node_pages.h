// The pods that serve the pages of nodes (`cagectl web`).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "fleet/object_watch.h"

namespace cardcage {

// Where the pods are.
struct PodsPlace {
  std::string name_space;
  std::string selector;  // selects by labels
};
// Reads "NAMESPACE/SELECTOR".
Result<PodsPlace> parse_pods_place(std::string_view text);

// [core] Knows the pods that are ready, by node.
class NodePages final : public ObjectSink {
 public:
  struct Page {
    std::string pod;
    std::uint16_t port = 0;
  };

  // Calls `changed` after each change.
  explicit NodePages(std::function<void()> changed) : changed_(std::move(changed)) {}

  static WatchedKind kind(const PodsPlace& place);

  std::optional<Page> of_node(const std::string& node) const;

  std::string key(const json::object& pod) const override;
  void put(const json::object& pod) override;
  void remove(const json::object& pod) override;
  void keep(const std::unordered_set<std::string>& names) override;

 private:
  const std::function<void()> changed_;
  std::map<std::pair<std::string, std::string>, std::uint16_t> ports_;  // by node and pod
};

}  // namespace cardcage
