// Follows ResourceClaims: those that cardcage-fleet has labelled for the node, or all of the cluster, because no other
// selector finds the claims that are allocated to one node.
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "host/apiserver/api_parts.h"
#include "host/apiserver/api_server.h"
#include "host/apiserver/binding_label.h"
#include "host/apiserver/claim_json.h"
#include "host/apiserver/percent_encode.h"
#include "host/apiserver/watch_event.h"
#include "host/core/cancellation.h"
#include "host/core/log.h"
#include "host/core/random_duration.h"

namespace cardcage {
namespace {

constexpr int kClaimsPerPage = 100;
constexpr std::size_t kMaxClaimPage = std::size_t{32}
                                      << 20;  // etcd holds objects of 1.5 MiB, but claims have a few KiB
constexpr std::chrono::seconds kPageLimit{30};
// A watch that follows another one costs a request and no list.
constexpr std::chrono::seconds kWatchTime{240}, kClaimWatchGrace{5};

std::string claims_path(ResourceApi version) {
  return fmt::format("/apis/resource.k8s.io/{}/resourceclaims", to_string(version));
}

// A selector begins with '&'.
std::string selector_of(const std::optional<ClaimLabelling>& labelling) {
  return "&labelSelector=" + percent_encode(fmt::format("{}={}", kBindingLabel, binding_label_of(labelling->node)));
}

ApiCall page_call(ResourceApi version, const std::string& selector, const std::string& next) {
  const std::string from = next.empty() ? "" : "&continue=" + percent_encode(next);
  return {"list ResourceClaims",
          {.path = fmt::format("{}?limit={}{}{}", claims_path(version), kClaimsPerPage, selector, from),
           .max_body = kMaxClaimPage},
          CallKind::kRead,
          kSpreadOfLists};
}

ApiCall watch_call(ResourceApi version, const std::string& selector, const std::string& since) {
  return {"watch ResourceClaims",
          {.path = fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}{}",
                               claims_path(version), kWatchTime.count(), percent_encode(since), selector),
           .max_body = kMaxClaimPage,
           .max_pause = kLongestSilence}};
}

// Returns the number of failures in a row after which claims are listed again. A server that has just started may know
// no rights yet.
int tolerated(Code code) {
  switch (code) {
    case Code::kUnavailable:
    case Code::kResourceExhausted: return 5;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated: return 1;
    default: return 0;
  }
}

void deliver(ClaimEvent::Kind kind, const json::value& object, const std::function<void(ClaimEvent)>& on_event) {
  if (auto claim = claim_from_json(object))
    on_event({kind, std::move(*claim)});
  else
    log_limited(LogLevel::kWarn, "claim-event", "ignoring a ResourceClaim that cannot be read",
                {{"error", claim.error().message}});
}

}  // namespace

// Returns the version of the list.
Task<Result<std::string>> ApiServer::list_claims(std::string selector, std::function<void(ClaimEvent)> on_event) {
  std::string next;
  while (true) {
    MakeCall make = [&](ResourceApi version) { return page_call(version, selector, next); };
    const auto body = co_await call(std::move(make), clock_.now() + kPageLimit);
    const auto page = parse_response(body);
    if (!page) co_return std::unexpected(page.error());
    const auto items = items_of(as_object(*page));
    if (!items) co_return within(items.error(), "list ResourceClaims");
    for (const auto& item : **items) deliver(ClaimEvent::Kind::kThere, item, on_event);
    const auto& metadata = object_at(as_object(*page), "metadata");
    next = text_at(metadata, "continue");
    if (next.empty()) co_return std::string(text_at(metadata, "resourceVersion"));
  }
}

Task<Status> ApiServer::follow_claims(std::function<void(ClaimEvent)> on_event) {
  using namespace asio::experimental::awaitable_operators;
  while (labelling_) {
    const bool labelled = co_await labelled_claims_.complete();
    auto following = follow_selected(labelled ? selector_of(labelling_) : "", on_event);
    auto changing = labelled_claims_.wait_for_change(labelled);
    const auto first = co_await (std::move(following) || std::move(changing));
    if (first.index() == 0) co_return std::get<0>(first);
    const bool over = co_await cancelled();
    if (over) co_return fail(Code::kCancelled, "following claims was cancelled");
    log(LogLevel::kInfo, labelled ? "cardcage-fleet does not label claims now; following all claims of the cluster"
                                  : "cardcage-fleet labels claims; following those of this node");
  }
  co_return co_await follow_selected("", std::move(on_event));
}

Task<Result<std::string>> ApiServer::read_renewal() {
  ApiCall lease{fmt::format("get Lease '{}/{}'", labelling_->name_space, labelling_->lease),
                {.path = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", labelling_->name_space,
                                     labelling_->lease),
                 .max_body = kMaxObject}};
  const auto body = co_await session_.call(std::move(lease), clock_.now() + kPageLimit);
  const auto read = parse_response(body);
  if (!read) co_return std::unexpected(read.error());
  co_return std::string(text_at(object_at(as_object(*read), "spec"), "renewTime"));
}

Task<Status> ApiServer::follow_selected(std::string selector, std::function<void(ClaimEvent)> on_event) {
  on_event({ClaimEvent::Kind::kListing, {}});
  auto version = co_await list_claims(selector, on_event);
  if (!version) co_return std::unexpected(version.error());
  on_event({ClaimEvent::Kind::kListed, {}});
  int failures = 0;
  const std::function<Status(std::string_view)> take = [&version, &on_event, &failures](std::string_view line) {
    Status taken = deliver_watched_object(line, *version, [&](bool deleted, const json::object& object) {
      deliver(deleted ? ClaimEvent::Kind::kGone : ClaimEvent::Kind::kThere, object, on_event);
    });
    if (taken) failures = 0;
    return taken;
  };
  while (true) {
    const auto api = co_await discover(clock_.now() + kPageLimit);
    if (!api) co_return std::unexpected(api.error());
    ApiCall watch = watch_call(*api, selector, *version);
    const Instant began = clock_.now();
    const Status ended = co_await session_.stream(std::move(watch), kWatchTime + kClaimWatchGrace, take);
    if (!ended && ended.error().code == Code::kUnimplemented && version_ == *api) version_.reset();
    if (ended && clock_.now() - began >= kMinWatchTime) continue;
    if (!ended && !session_.contact().is_away() && ++failures > tolerated(ended.error().code)) co_return ended;
    if (!ended)
      log_limited(LogLevel::kWarn, "watch claims", "the watch of ResourceClaims has ended",
                  {{"error", ended.error().message}});
    // All nodes lose their watches together; each continues at another time.
    co_await clock_.sleep_for(random_duration(kSpreadOfLists / 20, kSpreadOfLists, random_));
    if (is_cancelled(co_await asio::this_coro::cancellation_state))
      co_return fail(Code::kCancelled, "following claims was cancelled");
  }
}

}  // namespace cardcage
