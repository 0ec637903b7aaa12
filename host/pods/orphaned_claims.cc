#include "host/pods/orphaned_claims.h"

#include <algorithm>
#include <utility>

#include "host/claim/claim_plan.h"
#include "host/core/log.h"
#include "host/pods/claim_checkpoint.h"

namespace cardcage {
namespace {

constexpr std::chrono::seconds kAnswerLimit{10};

// A claim that pods of several nodes have used one after the other may have devices of the same driver on another node.
bool has_device_of(const ClaimRecord& record, const std::vector<Allocation>& allocations) {
  const std::vector<Allocation> held = allocations_of(record);
  return std::ranges::any_of(allocations, [&](const Allocation& now) {
    return now.driver == record.driver && std::ranges::any_of(held, [&](const Allocation& then) {
             return then.pool == now.pool && then.device == now.device;
           });
  });
}

}  // namespace

OrphanedClaims::OrphanedClaims(asio::io_context& core, Clock& clock, Cluster& cluster, const Ledger& ledger,
                               std::filesystem::path kubelet_root, Release release, OrphanPace pace)
    : clock_(clock),
      cluster_(cluster),
      ledger_(ledger),
      kubelet_root_(std::move(kubelet_root)),
      release_(std::move(release)),
      pace_(pace),
      wake_(core) {}

Task<void> OrphanedClaims::run() {
  while (!stopping_) {
    co_await wake_.wait_for(clock_, pace_.search);
    if (!stopping_) co_await search();
  }
}

void OrphanedClaims::stop() {
  stopping_ = true;
  wake_.wake();
}

Task<void> OrphanedClaims::search() {
  std::vector<std::shared_ptr<const ClaimRecord>> records;
  for (const auto& [key, record] : ledger_.claims())
    // A record that was rebuilt from a CDI file has no name to look up at the API server.
    if (!record->served().is_resource() && !record->ref.name.empty()) records.push_back(record);
  if (records.empty()) co_return suspects_.clear();
  const auto known = read_claim_checkpoint(kubelet_root_);
  if (!known)
    co_return log_limited(LogLevel::kWarn, "claim checkpoint", "cannot tell which claims the kubelet knows",
                          {{"error", known.error().message}});

  const std::map<ClaimKey, Instant> before = std::exchange(suspects_, {});
  for (const auto& record : records) {
    if (stopping_ || known->contains(record->ref.uid)) continue;
    const auto suspect = before.find(record->key());
    const Result<bool> forgotten = co_await is_forgotten(record);
    if (!forgotten) {
      suspects_ = before;
      co_return;
    }
    if (!*forgotten || !ledger_.find(record->key())) continue;
    const Instant since = suspect == before.end() ? clock_.now() : suspect->second;
    suspects_.emplace(record->key(), since);
    if (clock_.now() - since >= pace_.confirm) co_await release(record);
  }
}

Task<Result<bool>> OrphanedClaims::is_forgotten(std::shared_ptr<const ClaimRecord> record) {
  const Result<Claim> claim =
      co_await cluster_.get_claim(record->ref.name_space, record->ref.name, clock_.now() + kAnswerLimit);
  if (!claim && claim.error().code != Code::kNotFound) co_return std::unexpected(claim.error());
  co_return !claim || claim->ref.uid != record->ref.uid || !has_device_of(*record, claim->allocations);
}

// The kubelet writes its checkpoint before it requests a claim, so it names a claim that was prepared meanwhile.
Status OrphanedClaims::still_unknown(const std::string& uid) const {
  const auto known = read_claim_checkpoint(kubelet_root_);
  if (!known) return std::unexpected(known.error());
  if (known->contains(uid)) return fail(Code::kAborted, "the kubelet knows it again");
  return {};
}

Task<void> OrphanedClaims::release(std::shared_ptr<const ClaimRecord> record) {
  const std::function<Status()> check = [this, uid = record->ref.uid] { return still_unknown(uid); };
  const Status released = co_await release_(record->driver, record->ref, check);
  if (!released) co_return;  // the preparer has logged why; the next check tries again
  log(LogLevel::kWarn,
      "released a claim that the kubelet does not know any more, and that has no device of this node in the cluster",
      {{"claim", claim_label(record->ref)}, {"uid", record->ref.uid}, {"driver", record->driver}});
}

}  // namespace cardcage
