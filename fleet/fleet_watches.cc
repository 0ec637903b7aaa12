#include "fleet/fleet_watches.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "fleet/object_key.h"
#include "host/apiserver/percent_encode.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

template <class T>
void put_if_readable(FleetStore& store, Result<T> read) {
  if (read)
    store.put(std::move(*read));
  else
    log_limited(LogLevel::kWarn, "fleet-object", "ignoring an object that cannot be read",
                {{"error", read.error().message}});
}

class SliceSink final : public ObjectSink {
 public:
  explicit SliceSink(FleetStore& store) : store_(store) {}
  std::string key(const json::object& slice) const override { return name_of(slice); }
  void put(const json::object& slice) override { put_if_readable(store_, fleet_slice_from_json(slice)); }
  void remove(const json::object& slice) override { store_.remove_slice(name_of(slice)); }
  void keep(const std::unordered_set<std::string>& keys) override { store_.keep_slices(keys); }

 private:
  FleetStore& store_;
};

class ClaimSink final : public ObjectSink {
 public:
  ClaimSink(FleetStore& store, ObjectSink* more) : store_(store), more_(more) {}
  std::string key(const json::object& claim) const override { return key_of(claim); }
  void put(const json::object& claim) override {
    put_if_readable(store_, fleet_claim_from_json(claim));
    if (more_ != nullptr) more_->put(claim);
  }
  void remove(const json::object& claim) override {
    store_.remove_claim(namespace_of(claim), name_of(claim));
    if (more_ != nullptr) more_->remove(claim);
  }
  void keep(const std::unordered_set<std::string>& keys) override {
    store_.keep_claims(keys);
    if (more_ != nullptr) more_->keep(keys);
  }

 private:
  FleetStore& store_;
  ObjectSink* const more_;
};

class RuleSink final : public ObjectSink {
 public:
  explicit RuleSink(FleetStore& store) : store_(store) {}
  std::string key(const json::object& rule) const override { return name_of(rule); }
  void put(const json::object& rule) override { put_if_readable(store_, fleet_taint_rule_from_json(rule)); }
  void remove(const json::object& rule) override { store_.remove_rule(name_of(rule)); }
  void keep(const std::unordered_set<std::string>& keys) override { store_.keep_rules(keys); }

 private:
  FleetStore& store_;
};

class EventSink final : public ObjectSink {
 public:
  EventSink(NodeEvents& events, FleetStore& store) : events_(events), store_(store) {}
  std::string key(const json::object& event) const override { return key_of(event); }
  void put(const json::object& event) override {
    events_.put(event);
    store_.touch();
  }
  // An expired Event is not news.
  void remove(const json::object& event) override { events_.remove(event); }
  void keep(const std::unordered_set<std::string>& keys) override { events_.keep(keys); }

 private:
  NodeEvents& events_;
  FleetStore& store_;
};

std::vector<std::string> paths(std::string_view resource, std::initializer_list<std::string_view> versions) {
  std::vector<std::string> paths;
  for (const std::string_view version : versions)
    paths.push_back(fmt::format("/apis/resource.k8s.io/{}/{}", version, resource));
  return paths;
}

// In the order of FleetWatches::sinks_.
std::vector<WatchedKind> kinds() {
  const std::string about_nodes = "fieldSelector=" + percent_encode("involvedObject.kind=Node");
  return {{.what = "ResourceSlices", .paths = paths("resourceslices", {"v1", "v1beta2", "v1beta1"}), .page = 100},
          {.what = "ResourceClaims", .paths = paths("resourceclaims", {"v1", "v1beta2", "v1beta1"}), .page = 250},
          {.what = "DeviceTaintRules",
           .paths = paths("devicetaintrules", {"v1", "v1beta2", "v1beta1", "v1alpha3"}),
           .page = 500,
           .optional = true},
          {.what = "Events", .paths = {"/api/v1/events"}, .selector = about_nodes, .page = 500}};
}

}  // namespace

FleetWatches::FleetWatches(asio::io_context& core, Clock& clock, ApiSession& session, FleetStore& store,
                           NodeEvents& events, WatchPace pace, std::function<void()> changed, ObjectSink* more_claims) {
  sinks_.push_back(std::make_unique<SliceSink>(store));
  sinks_.push_back(std::make_unique<ClaimSink>(store, more_claims));
  sinks_.push_back(std::make_unique<RuleSink>(store));
  sinks_.push_back(std::make_unique<EventSink>(events, store));
  std::size_t i = 0;
  for (WatchedKind& kind : kinds())
    watches_.push_back(
        std::make_unique<ObjectWatch>(core, clock, session, std::move(kind), *sinks_[i++], pace, changed));
}

FleetWatches::~FleetWatches() = default;

Task<void> FleetWatches::run() {
  using namespace asio::experimental::awaitable_operators;
  co_await (watches_[0]->run() && watches_[1]->run() && watches_[2]->run() && watches_[3]->run());
}

bool FleetWatches::synced() const {
  return std::ranges::all_of(watches_, [](const auto& watch) { return watch->state().listed; });
}

std::size_t FleetWatches::lost() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(watches_, [](const auto& watch) { return !watch->state().connected; }));
}

std::vector<std::string> FleetWatches::warnings() const {
  std::vector<std::string> warnings;
  for (const auto& watch : watches_)
    if (auto warning = watch->warning()) warnings.push_back(std::move(*warning));
  return warnings;
}

}  // namespace cardcage
