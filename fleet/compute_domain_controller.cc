#include "fleet/compute_domain_controller.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "fleet/object_key.h"
#include "host/apiserver/api_parts.h"
#include "host/apiserver/percent_encode.h"
#include "host/core/cancellation.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

using Kind = ComputeDomainStore::Kind;

constexpr Duration kStepLimit = std::chrono::seconds(30);
// More steps than a domain ever needs, so that another controller cannot keep this one busy with a single domain.
constexpr int kMostSteps = 8;

class DomainSink final : public ObjectSink {
 public:
  DomainSink(ComputeDomainStore& store, Kind kind, Wakeup& changed) : store_(store), kind_(kind), changed_(changed) {}
  std::string key(const json::object& object) const override { return key_of(object); }
  void put(const json::object& object) override {
    if (store_.put(kind_, object)) changed_.wake();
  }
  void remove(const json::object& object) override {
    store_.remove(kind_, key(object));
    changed_.wake();
  }
  void keep(const std::unordered_set<std::string>& keys) override {
    store_.keep(kind_, keys);
    changed_.wake();
  }

 private:
  ComputeDomainStore& store_;
  const Kind kind_;
  Wakeup& changed_;
};

std::vector<std::string> paths_of(std::string_view resource) {
  return {fmt::format("/apis/resource.k8s.io/v1/{}", resource),
          fmt::format("/apis/resource.k8s.io/v1beta2/{}", resource)};
}

// In the order of Kind.
std::vector<WatchedKind> watched_kinds() {
  const std::string labelled = "labelSelector=" + percent_encode(kComputeDomainLabel);
  const std::string driver = "fieldSelector=" + percent_encode(fmt::format("spec.driver={}", kComputeDomainDriver));
  return {{.what = "ComputeDomains", .paths = {"/apis/resource.nvidia.com/v1beta1/computedomains"}},
          {.what = "ResourceClaimTemplates of ComputeDomains",
           .paths = paths_of("resourceclaimtemplates"),
           .selector = labelled},
          {.what = "ResourceClaims of ComputeDomains", .paths = paths_of("resourceclaims"), .selector = labelled},
          {.what = "ResourceSlices of ComputeDomains", .paths = paths_of("resourceslices"), .selector = driver},
          {.what = "Nodes", .paths = {"/api/v1/nodes"}}};
}

std::string path_of(const ComputeDomain& domain) {
  return fmt::format("/apis/resource.nvidia.com/v1beta1/namespaces/{}/computedomains/{}", domain.name_space,
                     domain.name);
}

json::object with_status(const ComputeDomain& domain, json::object status) {
  json::object changed = domain.object;
  changed["status"] = std::move(status);
  return changed;
}

}  // namespace

ComputeDomainController::ComputeDomainController(asio::io_context& core, Clock& clock, ApiSession& session,
                                                 WatchPace pace)
    : clock_(clock),
      session_(session),
      changed_(core),
      retry_(pace.first_pause, pace.longest_pause, std::string("compute domains")) {
  int kind = 0;
  for (WatchedKind& watched : watched_kinds()) {
    sinks_.push_back(std::make_unique<DomainSink>(store_, static_cast<Kind>(kind++), changed_));
    watches_.push_back(std::make_unique<ObjectWatch>(core, clock, session, std::move(watched), *sinks_.back(), pace,
                                                     [this] { changed_.wake(); }));
  }
}

ComputeDomainController::~ComputeDomainController() = default;

bool ComputeDomainController::listed() const {
  return std::ranges::all_of(watches_, [](const auto& watch) { return watch->state().listed; });
}

Task<void> ComputeDomainController::run() {
  using namespace asio::experimental::awaitable_operators;
  co_await (watches_[0]->run() && watches_[1]->run() && watches_[2]->run() && watches_[3]->run() &&
            watches_[4]->run() && reconcile());
}

Task<void> ComputeDomainController::reconcile() {
  Instant again = Instant::max();
  while (true) {
    co_await changed_.wait_until(clock_, again);
    const bool ended = co_await cancelled();
    if (ended) co_return;
    again = Instant::max();
    if (!listed()) continue;
    for (const std::string& key : store_.domains()) {
      const Status settled = co_await settle(key);
      const bool cut_off = co_await cancelled();
      if (cut_off) co_return;
      if (settled) continue;
      log_limited(LogLevel::kWarn, "compute-domain " + key, "cannot settle a ComputeDomain; trying again",
                  {{"domain", key}, {"error", settled.error().message}});
      again = clock_.now() + retry_.next();
    }
    if (again == Instant::max()) retry_.reset();
  }
}

Task<Status> ComputeDomainController::settle(std::string key) {
  for (int steps = 0; steps < kMostSteps; ++steps) {
    const ComputeDomain* const found = store_.find(key);
    if (found == nullptr) co_return Status{};
    const ComputeDomain domain = *found;  // a watch may replace it meanwhile
    const ComputeDomainStep step = store_.next_step(domain);
    if (step == ComputeDomainStep::kNone) co_return Status{};
    ApiCall call = call_for(domain, step);
    const auto body = co_await session_.call(std::move(call), clock_.now() + kStepLimit);
    if (!body && step == ComputeDomainStep::kDeleteTemplate && body.error().code == Code::kNotFound) co_return Status{};
    if (!body) co_return std::unexpected(body.error());
    // The watches report removals.
    if (step == ComputeDomainStep::kDeleteTemplate || step == ComputeDomainStep::kRemoveFinalizer) co_return Status{};
    const auto stored = parse_response(body);
    if (!stored) co_return std::unexpected(stored.error());
    store_.put(step == ComputeDomainStep::kCreateTemplate ? Kind::kTemplate : Kind::kDomain, as_object(*stored));
  }
  co_return fail(Code::kAborted, "ComputeDomain '{}' keeps changing; does another controller manage it, too?", key);
}

ApiCall ComputeDomainController::call_for(const ComputeDomain& domain, ComputeDomainStep step) const {
  using enum ComputeDomainStep;
  const std::string about = fmt::format("ComputeDomain '{}'", domain.key());
  const std::string claim_template = fmt::format("ResourceClaimTemplate '{}' of {}", domain.template_name, about);
  const std::string templates =
      fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates", domain.name_space);
  switch (step) {
    case kCreateTemplate:
      return {"create " + claim_template,
              {.method = "POST", .path = templates, .body = json::serialize(claim_template_json(domain))},
              CallKind::kCreate};
    case kDeleteTemplate:
      return {"delete " + claim_template,
              {.method = "DELETE", .path = templates + "/" + domain.template_name},
              CallKind::kDelete};
    case kWriteStatus:
      return {"write the status of " + about,
              {.method = "PUT",
               .path = path_of(domain) + "/status",
               .body = json::serialize(with_status(domain, store_.wanted_status(domain)))},
              CallKind::kUpdate};
    default:
      return {"change the finalizer of " + about,
              {.method = "PUT",
               .path = path_of(domain),
               .body = json::serialize(with_finalizer(domain, step == kAddFinalizer))},
              CallKind::kUpdate};
  }
}

}  // namespace cardcage
