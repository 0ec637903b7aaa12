#include "host/pods/pod_resources.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

using std::chrono::seconds;

constexpr seconds kCallLimit{10};
constexpr seconds kPricePerCall{1};
constexpr int kBurst = 5;

// The kubelet lists a device once per NUMA node, so duplicates are normal.
Result<std::vector<PodHolding>> holdings_of(const api::pod_resources::ListPodResourcesResponse& answer) {
  std::vector<PodHolding> holdings;
  for (const auto& pod : answer.pod_resources()) {
    if (pod.name().empty() || pod.namespace_().empty())
      return fail(Code::kDataLoss, "the kubelet lists a pod without a name");
    for (const auto& container : pod.containers())
      for (const auto& devices : container.devices())
        for (const auto& id : devices.device_ids()) {
          if (devices.resource_name().empty() || id.empty())
            return fail(Code::kDataLoss, "the kubelet lists a device of pod '{}/{}' without a name", pod.namespace_(),
                        pod.name());
          holdings.push_back(
              {{devices.resource_name(), id}, {pod.namespace_(), pod.name(), container.name(), /*uid=*/""}});
        }
  }
  std::ranges::sort(holdings);
  const auto repeated = std::ranges::unique(holdings);
  holdings.erase(repeated.begin(), repeated.end());
  return holdings;
}

ClaimUsers claims_of(const api::pod_resources::ListPodResourcesResponse& answer) {
  ClaimUsers claims;
  for (const auto& pod : answer.pod_resources())
    for (const auto& container : pod.containers())
      for (const auto& claim : container.dynamic_resources())
        claims[{claim.claim_namespace(), claim.claim_name()}].push_back(
            {pod.namespace_(), pod.name(), container.name(), /*uid=*/""});
  return claims;
}

}  // namespace

std::string_view to_string(PodResourcesView::State state) {
  switch (state) {
    case PodResourcesView::State::kWaiting: return "waiting";
    case PodResourcesView::State::kOk: return "ok";
    case PodResourcesView::State::kAbsent: return "absent";
    case PodResourcesView::State::kFailing: return "failing";
  }
  return "unknown";
}

PodResources::PodResources(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients,
                           std::filesystem::path socket)
    : clock_(clock), clients_(clients), socket_(std::move(socket)), limit_(kBurst, kPricePerCall), calls_(core) {}

Task<Result<PodListing>> PodResources::list() {
  using namespace api::pod_resources;
  co_await pace();
  PodListing listing{.began = clock_.now(), .holdings = {}, .claims = {}};
  const auto begin = [](const KubeletClients& set, auto... call) { set.pod_resources->async()->List(call...); };
  auto answer = co_await call<ListPodResourcesRequest, ListPodResourcesResponse>(begin);
  auto holdings = answer ? holdings_of(*answer) : std::unexpected(answer.error());
  note(holdings ? Status() : std::unexpected(holdings.error()));
  if (!holdings) co_return within(holdings.error(), "cannot ask the kubelet who holds devices");
  listing.holdings = *std::move(holdings);
  listing.claims = claims_of(*answer);
  co_return listing;
}

Task<Result<OfferedDevices>> PodResources::offered() {
  using namespace api::pod_resources;
  co_await pace();
  const auto begin = [](const KubeletClients& set, auto... call) {
    set.pod_resources->async()->GetAllocatableResources(call...);
  };
  auto answer = co_await call<AllocatableResourcesRequest, AllocatableResourcesResponse>(begin);
  if (!answer) co_return within(answer.error(), "cannot ask the kubelet which devices it offers");
  OfferedDevices offered;
  for (const auto& devices : answer->devices())
    if (!devices.device_ids().empty())
      offered[devices.resource_name()].insert(devices.device_ids().begin(), devices.device_ids().end());
  co_return offered;
}

template <class Request, class Response, class Begin>
Task<Result<Response>> PodResources::call(Begin begin) {
  std::error_code ignored;
  if (!std::filesystem::is_socket(socket_, ignored))
    co_return fail(Code::kUnavailable, "no socket '{}'", socket_.native());
  const auto set = clients_.current();
  const auto done = calls_.begin<Request, Response>(set, Request(), kCallLimit, begin);
  auto answer = co_await done.wait_until(clock_, Instant::max());
  if (!answer) co_return fail(Code::kCancelled, "the call was cancelled");
  if (!*answer && answer->error().code == Code::kUnavailable) clients_.replace(set);
  // Leaves some of the calls to other callers on the node.
  if (!*answer && answer->error().code == Code::kResourceExhausted) limit_.spend(clock_.now());
  co_return *std::move(answer);
}

Task<void> PodResources::pace() {
  const Instant earliest = limit_.next();
  limit_.take(clock_.now());
  if (earliest > clock_.now()) co_await clock_.sleep_until(earliest);
}

void PodResources::note(const Status& status) {
  using State = PodResourcesView::State;
  std::error_code ignored;
  const State before = view_.state;
  view_.state = status ? State::kOk : std::filesystem::is_socket(socket_, ignored) ? State::kFailing : State::kAbsent;
  view_.error = status ? "" : status.error().message;
  if (view_.state == before) return;
  if (view_.state == State::kOk && before != State::kWaiting)
    log(LogLevel::kInfo, "the kubelet lists the holders of devices again");
  if (view_.state == State::kAbsent)
    log(LogLevel::kWarn, "the kubelet has no PodResources socket: devices stay handed out until it has one",
        {{"socket", socket_.native()}});
  if (view_.state == State::kFailing)
    log_limited(LogLevel::kWarn, "pod resources", "cannot list the holders of devices", {{"error", view_.error}});
}

}  // namespace cardcage
