#include "host/pods/pod_reconciler.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cerrno>

#include "host/core/log.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

constexpr Duration kBusyPeriod = 10s, kIdlePeriod = 60s;
constexpr Duration kDebounce = 200ms;  // hints come in bursts
constexpr Duration kApart = 1s;        // between lists; the kubelet serves others, too
constexpr Duration kOfferPeriod = 60s, kOfferConfirm = 5s;
constexpr Duration kFirstRetry = 1s, kLongestFailure = 10s;
constexpr Duration kLongestRetry = 5min;
constexpr Duration kFirstDoubt = 1s;
constexpr std::size_t kMaxUnderWay = 8;
constexpr const char* kCheckpoint = "kubelet_internal_checkpoint";

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// What may be a folder name below pods/: UIDs, and the hashes that static pods have.
bool is_uid(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

}  // namespace

PodReconciler::PodReconciler(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients,
                             HandedOut& handed_out, const KubeletSockets& sockets, PodReconcilerOptions options)
    : core_(core),
      clock_(clock),
      handed_out_(handed_out),
      options_(std::move(options)),
      resources_(core, clock, clients, sockets.pod_resources),
      pods_(
          core, clock, clients, sockets.pods, [this] { nudge(); }, options_.jitter_seed),
      checkpoint_watch_(core, [this] { nudge(); }),
      retry_(kFirstRetry, kLongestFailure, options_.jitter_seed + 1),
      wake_(core),
      stopped_(core),
      idle_(core) {}

void PodReconciler::nudge() { due_at(clock_.now() + kDebounce); }

void PodReconciler::due_at(Instant when) {
  if (when >= due_) return;
  due_ = when;
  wake_.wake();
}

Task<void> PodReconciler::run() {
  co_await (keep() || pods_.run() || stopped_.wait());
  while (!under_way_.empty()) co_await idle_.wait();
}

Task<void> PodReconciler::keep() {
  for (;;) {
    // Every replacement of the checkpoint is a rename. Hints only: without inotify the period has to do.
    (void)checkpoint_watch_.watch(options_.device_plugins);
    while (clock_.now() < due_) co_await wake_.wait_until(clock_, due_);
    const auto now_handed_out = handed_out_.handed_out();
    due_ = clock_.now() + (now_handed_out.empty() ? kIdlePeriod : kBusyPeriod);
    if (now_handed_out.empty() && handed_out_.served().empty()) continue;
    if (const Duration since = clock_.now() - last_began_; since < kApart) co_await clock_.sleep_for(kApart - since);
    const Status done = co_await round();
    if (done) {
      retry_.reset();
      co_await look_for_lost();
    } else {
      // Hints that come meanwhile wait, too.
      co_await clock_.sleep_for(retry_.next());
      due_at(clock_.now());
    }
  }
}

// One list and what follows from it.
Task<Status> PodReconciler::round() {
  auto listing = co_await resources_.list();
  if (!listing) co_return std::unexpected(listing.error());
  last_began_ = listing->began;
  for (PodHolding& holding : listing->holdings)
    holding.holder.uid = pods_.uid_of(holding.holder.name_space, holding.holder.pod);
  std::set<std::string> ours;
  for (const ServedResource& resource : handed_out_.served()) ours.insert(resource.name);
  for (const HandedOutDevice& device : handed_out_.handed_out()) ours.insert(device.device.resource);

  auto findings = holders_.judge(*listing, handed_out_.handed_out(), ours);
  ++rounds_;
  for (const PodHolding& news : findings.seen) handed_out_.seen(news.device, news.holder);
  for (const PodHolding& holding : findings.strange)
    if (may_begin(holding.device)) spawn(core_, adopt(holding));
  if (findings.confirm) due_at(*findings.confirm);
  // What is over needs no memory.
  std::erase_if(failed_, [&](const auto& entry) {
    const auto is_it = [&](const auto& finding) { return finding.device == entry.first; };
    return std::ranges::none_of(findings.strange, is_it) &&
           std::ranges::none_of(findings.absent, [&](const auto& absent) { return is_it(absent.device); });
  });
  std::erase_if(doubts_, [&](const auto& entry) {
    return std::ranges::none_of(findings.absent,
                                [&](const auto& absent) { return absent.device.device == entry.first; });
  });
  if (!findings.absent.empty()) co_await consider(std::move(findings.absent));
  co_return Status{};
}

Task<void> PodReconciler::consider(std::vector<AbsentDevice> absent) {
  std::set<ResourceDevice> asked;
  for (const AbsentDevice& device : absent) asked.insert(device.device.device);
  const auto file = options_.device_plugins / kCheckpoint;
  const auto holders = co_await read_device_checkpoint(file, std::move(asked));
  checkpoint_error_ = holders ? "" : holders.error().message;
  const auto now_handed_out = handed_out_.handed_out();
  for (const AbsentDevice& candidate : absent) {
    const ResourceDevice& device = candidate.device.device;
    // The reading took a while: an Allocate may have come.
    if (std::ranges::find(now_handed_out, candidate.device) == now_handed_out.end()) continue;
    const CheckpointWord word = holders ? word_on(device, *holders) : CheckpointWord::kUnknown;
    if (word == CheckpointWord::kHeld)
      doubt(device);
    else
      doubts_.erase(device);
    if (PodHolders::may_release(candidate, word) && may_begin(device)) spawn(core_, release(candidate.device));
  }
}

CheckpointWord PodReconciler::word_on(const ResourceDevice& device, const CheckpointHolders& holders) const {
  const auto recorded = holders.find(device);
  if (recorded == holders.end()) return CheckpointWord::kFree;
  // Where the kubelet's folder is not mounted every pod would seem to be gone: a new checkpoint has to tell.
  if (!is_folder(options_.kubelet_root / "pods")) return CheckpointWord::kHeld;
  for (const std::string& uid : recorded->second) {
    if (!is_uid(uid)) return CheckpointWord::kUnknown;
    if (pods_.has_ended(uid)) continue;
    struct stat about{};
    if (::lstat((options_.kubelet_root / "pods" / uid).c_str(), &about) == 0 || errno != ENOENT)
      return CheckpointWord::kHeld;
  }
  return CheckpointWord::kFree;
}

// The checkpoint may be older than the end of the pod: a finished Job keeps its folder. The kubelet has it written with
// the next Allocate or list of devices, and the list is ours to send.
void PodReconciler::doubt(const ResourceDevice& device) {
  const Backoff pause(kFirstDoubt, kLongestRetry, options_.jitter_seed + 2);
  const auto [entry, first] = doubts_.try_emplace(device, Doubt{pause, Instant()});
  Doubt& doubt = entry->second;
  if (!first && clock_.now() < doubt.resend_at) return;
  doubt.resend_at = clock_.now() + doubt.pause.next();
  due_at(doubt.resend_at);
  if (!first) handed_out_.resend(device.resource);
}

bool PodReconciler::may_begin(const ResourceDevice& device) {
  if (under_way_.contains(device) || under_way_.size() >= kMaxUnderWay) return false;
  if (const auto failed = failed_.find(device); failed != failed_.end() && clock_.now() < failed->second.not_before)
    return false;
  under_way_.insert(device);
  return true;
}

Task<void> PodReconciler::release(HandedOutDevice device) {
  const ResourceDevice which = device.device;
  const Status released = co_await handed_out_.release(std::move(device));
  ended(which, released, "released a device that no pod holds any more", "cannot release a device");
}

Task<void> PodReconciler::adopt(PodHolding holding) {
  const ResourceDevice which = holding.device;
  const Status adopted = co_await handed_out_.adopt(std::move(holding.device), std::move(holding.holder));
  ended(which, adopted, "took over a device that a pod holds", "cannot take over a device that a pod holds");
}

void PodReconciler::ended(const ResourceDevice& device, const Status& status, const char* done, const char* failed) {
  under_way_.erase(device);
  if (under_way_.empty()) idle_.wake();
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
  retry.not_before = clock_.now() + retry.pause.next();
  due_at(retry.not_before);
}

// A registration that went wrong may leave a resource of which the kubelet offers nothing and tells nobody.
Task<void> PodReconciler::look_for_lost() {
  if (clock_.now() < offered_due_) co_return;
  offered_due_ = clock_.now() + kOfferPeriod;
  const auto offered = co_await resources_.offered();
  if (!offered) co_return;  // the lists fail then, too, or it is an old kubelet
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
    log_limited(LogLevel::kWarn, "lost " + resource.name, "the kubelet offers none of the resource's healthy devices",
                {{"resource", resource.name}});
    handed_out_.lost(resource.name);
  }
  missing_ = std::move(missing);
  due_at(offered_due_);
}

PodReconcilerStatus PodReconciler::status() const {
  PodReconcilerStatus status{.resources = resources_.view(),
                             .pods = pods_.view(),
                             .checkpoint_error = checkpoint_error_,
                             .doubts = {},
                             .rounds = rounds_,
                             .last_error = last_error_};
  for (const auto& [device, doubt] : doubts_) status.doubts.push_back(device);
  return status;
}

}  // namespace cardcage
