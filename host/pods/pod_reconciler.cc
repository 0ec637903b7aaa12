#include "host/pods/pod_reconciler.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cerrno>

#include "host/core/ascii.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

constexpr Duration kBusyPeriod = 10s, kIdlePeriod = 60s;
constexpr Duration kDebounce = 200ms;          // hints come in bursts
constexpr Duration kMinTimeBetweenLists = 1s;  // the kubelet has other callers, too
constexpr Duration kOfferPeriod = 60s, kOfferConfirm = 5s;
constexpr Duration kFirstRetry = 1s;
constexpr Duration kLongestListRetry = 10s, kLongestRetry = 5min;
constexpr std::size_t kMaxUnderWay = 8;
constexpr const char* kCheckpoint = "kubelet_internal_checkpoint";

// Pods are identified by UIDs, static pods by hashes. Both are used as folder names here.
bool is_uid(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

}  // namespace

PodReconciler::PodReconciler(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients,
                             HandedOut& handed_out, const KubeletSockets& sockets, const PodsWatch& pods,
                             PodReconcilerOptions options)
    : clock_(clock),
      handed_out_(handed_out),
      options_(std::move(options)),
      resources_(core, clock, clients, sockets.pod_resources),
      pods_(pods),
      checkpoint_watch_(core, [this] { nudge(); }),
      retry_(kFirstRetry, kLongestListRetry, options_.jitter_seed + 1),
      wake_(core),
      stopped_(core),
      changes_(core) {}

void PodReconciler::nudge() { run_by(clock_.now() + kDebounce); }

void PodReconciler::run_by(Instant when) {
  if (when >= due_) return;
  due_ = when;
  wake_.wake();
}

Task<void> PodReconciler::run() {
  co_await (reconcile_forever() || stopped_.wait());
  co_await changes_.join(clock_, Instant::max());
}

Task<void> PodReconciler::reconcile_forever() {
  for (;;) {
    // The kubelet replaces its checkpoint by renaming. If the watch fails, the period has to do.
    (void)checkpoint_watch_.watch(options_.device_plugins);
    while (clock_.now() < due_) co_await wake_.wait_until(clock_, due_);
    const auto now_handed_out = handed_out_.handed_out();
    const bool claims_wanted = options_.claims_wanted && options_.claims_wanted();
    due_ = clock_.now() + (now_handed_out.empty() && !claims_wanted ? kIdlePeriod : kBusyPeriod);
    if (!claims_wanted) claim_users_.clear();
    if (now_handed_out.empty() && handed_out_.served().empty() && !claims_wanted) continue;
    co_await clock_.sleep_until(last_began_ + kMinTimeBetweenLists);
    const Status done = co_await reconcile_once();
    if (done) {
      retry_.reset();
      co_await find_lost_resources();
    } else {
      // Hints must not shorten this pause.
      co_await clock_.sleep_for(retry_.next());
      run_by(clock_.now());
    }
  }
}

Task<Status> PodReconciler::reconcile_once() {
  auto listing = co_await resources_.list();
  if (!listing) co_return std::unexpected(listing.error());
  last_began_ = listing->began;
  claim_users_ = std::move(listing->claims);
  for (PodHolding& holding : listing->holdings)
    holding.holder.uid = pods_.uid_of(holding.holder.name_space, holding.holder.pod);
  std::set<std::string> ours;
  for (const ServedResource& resource : handed_out_.served()) ours.insert(resource.name);
  for (const HandedOutDevice& device : handed_out_.handed_out()) ours.insert(device.device.resource);

  auto findings = holders_.judge(*listing, handed_out_.handed_out(), ours);
  ++rounds_;
  for (const PodHolding& holding : findings.seen) handed_out_.seen(holding.device, holding.holder);
  for (const PodHolding& holding : findings.strange)
    if (try_begin(holding.device)) changes_.spawn(adopt(holding));
  if (findings.confirm) run_by(*findings.confirm);
  // Forget finished entries.
  std::set<ResourceDevice> absent, strange;
  for (const AbsentDevice& device : findings.absent) absent.insert(device.device.device);
  for (const PodHolding& holding : findings.strange) strange.insert(holding.device);
  std::erase_if(failed_,
                [&](const auto& entry) { return !absent.contains(entry.first) && !strange.contains(entry.first); });
  std::erase_if(doubts_, [&](const auto& entry) { return !absent.contains(entry.first); });
  if (!findings.absent.empty()) co_await judge_absent(std::move(findings.absent));
  co_return Status{};
}

Task<void> PodReconciler::judge_absent(std::vector<AbsentDevice> absent) {
  std::set<ResourceDevice> wanted;
  for (const AbsentDevice& device : absent) wanted.insert(device.device.device);
  const auto file = options_.device_plugins / kCheckpoint;
  const auto holders = co_await read_device_checkpoint(file, std::move(wanted));
  const auto now_handed_out = handed_out_.handed_out();
  for (const AbsentDevice& candidate : absent) {
    const ResourceDevice& device = candidate.device.device;
    // An Allocate may have ended while the checkpoint was read.
    if (std::ranges::find(now_handed_out, candidate.device) == now_handed_out.end()) continue;
    const CheckpointVerdict checkpoint = verdict(device, holders);
    if (checkpoint == CheckpointVerdict::kHeld)
      resolve_doubt(device);
    else
      doubts_.erase(device);
    if (PodHolders::may_release(candidate, checkpoint) && try_begin(device)) changes_.spawn(release(candidate.device));
  }
}

CheckpointVerdict PodReconciler::verdict(const ResourceDevice& device, const Result<CheckpointHolders>& holders) const {
  // If the kubelet's folder is not mounted, every pod seems to be gone. Wait for a new checkpoint.
  std::error_code ignored;
  const bool sees_pods = std::filesystem::is_directory(options_.kubelet_root / "pods", ignored);
  if (!holders) return sees_pods ? CheckpointVerdict::kUnknown : CheckpointVerdict::kHeld;
  const auto recorded = holders->find(device);
  if (recorded == holders->end()) return CheckpointVerdict::kFree;
  if (!sees_pods) return CheckpointVerdict::kHeld;
  for (const std::string& uid : recorded->second) {
    if (!is_uid(uid)) return CheckpointVerdict::kUnknown;
    if (pods_.has_ended(uid)) continue;
    struct stat about{};
    if (::lstat((options_.kubelet_root / "pods" / uid).c_str(), &about) == 0 || errno != ENOENT)
      return CheckpointVerdict::kHeld;
  }
  return CheckpointVerdict::kFree;
}

// The checkpoint may be older than the end of the pod, whose folder stays if it is a finished Job. The kubelet writes
// the checkpoint at the next Allocate or list of devices, so the list is sent again.
void PodReconciler::resolve_doubt(const ResourceDevice& device) {
  const Backoff pause(kFirstRetry, kLongestRetry, options_.jitter_seed + 2);
  const auto [entry, first] = doubts_.try_emplace(device, Retry{pause, Instant()});
  Retry& resend = entry->second;
  if (!first && clock_.now() < resend.next) return;
  resend.schedule(clock_.now());
  run_by(resend.next);
  if (!first) handed_out_.resend(device.resource);
}

bool PodReconciler::try_begin(const ResourceDevice& device) {
  if (under_way_.contains(device)) return false;
  if (const auto failed = failed_.find(device); failed != failed_.end() && clock_.now() < failed->second.next) {
    run_by(failed->second.next);
    return false;
  }
  if (under_way_.size() >= kMaxUnderWay) {
    others_wait_ = true;
    return false;
  }
  under_way_.insert(device);
  return true;
}

Task<void> PodReconciler::release(HandedOutDevice device) {
  const ResourceDevice which = device.device;
  const Status released = co_await handed_out_.release(std::move(device));
  finish(which, released, "released a device that no pod holds any more", "cannot release a device");
}

Task<void> PodReconciler::adopt(PodHolding holding) {
  const ResourceDevice which = holding.device;
  const Status adopted = co_await handed_out_.adopt(std::move(holding.device), std::move(holding.holder));
  finish(which, adopted, "adopted a device that a pod holds", "cannot adopt a device that a pod holds");
}

void PodReconciler::finish(const ResourceDevice& device, const Status& status, const char* done, const char* failed) {
  under_way_.erase(device);
  if (std::exchange(others_wait_, false)) run_by(clock_.now());
  last_error_ = status ? "" : status.error().message;
  if (status) {
    failed_.erase(device);
    log(LogLevel::kInfo, done, {{"resource", device.resource}, {"device", device.id}});
    return;
  }
  log_limited(LogLevel::kWarn, device.resource + device.id, failed,
              {{"resource", device.resource}, {"device", device.id}, {"error", status.error().message}});
  const Backoff pause(kFirstRetry, kLongestRetry, options_.jitter_seed + 3);
  Retry& retry = failed_.try_emplace(device, Retry{pause, Instant()}).first->second;
  retry.schedule(clock_.now());
  run_by(retry.next);
}

// After a failed registration the kubelet may silently offer none of a resource's devices.
Task<void> PodReconciler::find_lost_resources() {
  if (clock_.now() < offered_due_) co_return;
  offered_due_ = clock_.now() + kOfferPeriod;
  const auto offered = co_await resources_.offered();
  if (!offered) co_return;  // lists of pods fail, too, or the kubelet is too old
  const Instant now = clock_.now();
  std::map<std::string, Instant> missing;
  for (const ServedResource& resource : handed_out_.served()) {
    if (resource.healthy.empty() || offered->contains(resource.name)) continue;
    const auto before = missing_.find(resource.name);
    const Instant since = before == missing_.end() ? now : before->second;
    if (now - since < kOfferConfirm) {
      missing[resource.name] = since;
      offered_due_ = std::min(offered_due_, since + kOfferConfirm);
      continue;
    }
    log_limited(LogLevel::kWarn, "lost " + resource.name,
                "the kubelet offers none of the healthy devices of the resource", {{"resource", resource.name}});
    handed_out_.lost(resource.name);
  }
  missing_ = std::move(missing);
  run_by(offered_due_);
}

PodReconcilerStatus PodReconciler::status() const {
  PodReconcilerStatus status{
      .resources = resources_.view(), .doubts = {}, .rounds = rounds_, .last_error = last_error_};
  for (const auto& [device, doubt] : doubts_) status.doubts.push_back(device);
  return status;
}

}  // namespace cardcage
