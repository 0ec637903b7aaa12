// Follows the ResourceClaims of the cluster. No selector finds the claims that are allocated to one node, so all are
// read.
#include "host/apiserver/api_server.h"
#include "host/apiserver/claim_json.h"
#include "host/apiserver/percent_encode.h"
#include "host/apiserver/watch_event.h"
#include "host/core/log.h"

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

ApiCall page_call(ResourceApi version, const std::string& next) {
  const std::string from = next.empty() ? "" : "&continue=" + percent_encode(next);
  return {
      "list ResourceClaims",
      {.path = fmt::format("{}?limit={}{}", claims_path(version), kClaimsPerPage, from), .max_body = kMaxClaimPage}};
}

ApiCall watch_call(ResourceApi version, const std::string& since) {
  return {"watch ResourceClaims",
          {.path = fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                               claims_path(version), kWatchTime.count(), percent_encode(since)),
           .max_body = kMaxClaimPage}};
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
Task<Result<std::string>> ApiServer::list_claims(std::function<void(ClaimEvent)> on_event) {
  std::string next;
  while (true) {
    MakeCall make = [&next](ResourceApi version) { return page_call(version, next); };
    const auto body = co_await call(std::move(make), clock_.now() + kPageLimit);
    if (!body) co_return std::unexpected(body.error());
    const auto page = parse_json(*body, "the response of the API server");
    if (!page) co_return fail(Code::kUnavailable, "{}", page.error().message);  // cut short on the way
    const auto items = items_of(as_object(*page));
    if (!items) co_return within(items.error(), "list ResourceClaims");
    for (const auto& item : **items) deliver(ClaimEvent::Kind::kThere, item, on_event);
    const auto& metadata = object_at(as_object(*page), "metadata");
    next = text_at(metadata, "continue");
    if (next.empty()) co_return std::string(text_at(metadata, "resourceVersion"));
  }
}

Task<Status> ApiServer::follow_claims(std::function<void(ClaimEvent)> on_event) {
  auto version = co_await list_claims(on_event);
  if (!version) co_return std::unexpected(version.error());
  on_event({ClaimEvent::Kind::kListed, {}});
  std::function<Status(std::string_view)> take = [&version, &on_event](std::string_view line) {
    return deliver_watched_object(line, *version, [&](WatchedChange change, const json::object& object) {
      const bool gone = change == WatchedChange::kDeleted;
      deliver(gone ? ClaimEvent::Kind::kGone : ClaimEvent::Kind::kThere, object, on_event);
    });
  };
  while (true) {
    const auto api = co_await discover(clock_.now() + kPageLimit);
    if (!api) co_return std::unexpected(api.error());
    ApiCall watch = watch_call(*api, *version);
    const Status ended = co_await session_.stream(std::move(watch), kWatchTime + kClaimWatchGrace, take);
    if (!ended && ended.error().code == Code::kUnimplemented && version_ == *api) version_.reset();
    if (!ended) co_return ended;
  }
}

}  // namespace cardcage
