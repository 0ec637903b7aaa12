#include "host/dra/claim_batch.h"

#include <algorithm>
#include <unordered_map>

#include "host/core/duration.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxField = 253;

std::string quoted_ref(const ClaimRef& ref) { return fmt::format("claim '{}/{}'", ref.name_space, ref.name); }

Status check(const ClaimRef& ref) {
  const std::pair<std::string_view, const std::string*> fields[] = {
      {"namespace", &ref.name_space}, {"name", &ref.name}, {"uid", &ref.uid}};
  for (const auto& [name, value] : fields) {
    if (value->empty()) return fail(Code::kInvalidArgument, "{} has no {}", quoted_ref(ref), name);
    if (value->size() > kMaxField)
      return fail(Code::kInvalidArgument, "{} of a claim has {} bytes and Kubernetes allows {}", name, value->size(),
                  kMaxField);
    // They become parts of file names and URLs.
    const bool plain = value->front() != '.' && std::ranges::all_of(*value, [](unsigned char c) {
                         return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                c == '-' || c == '.' || c == '_';
                       });
    if (!plain) return fail(Code::kInvalidArgument, "{} '{}' of a claim is not a Kubernetes name", name, *value);
  }
  return {};
}

}  // namespace

std::vector<ClaimEntry> claim_entries(std::vector<ClaimRef> claims) {
  std::vector<ClaimEntry> entries;
  entries.reserve(claims.size());
  std::unordered_map<std::string, std::size_t> by_uid;
  for (ClaimRef& ref : claims) {
    const auto [known, added] = by_uid.emplace(ref.uid, entries.size());
    if (!added) {
      ClaimEntry& first = entries[known->second];
      if (!(first.ref == ref))
        first.answer = fail(Code::kInvalidArgument, "uid '{}' is named twice, as {} and {}", ref.uid,
                            quoted_ref(first.ref), quoted_ref(ref));
      continue;
    }
    ClaimEntry& entry = entries.emplace_back();
    if (auto checked = check(ref); !checked) entry.answer = std::unexpected(checked.error());
    entry.ref = std::move(ref);
  }
  return entries;
}

ClaimBatch::ClaimBatch(asio::io_context& core, ClaimOperation operation, std::vector<ClaimEntry> entries)
    : core_(core), operation_(operation), entries_(std::move(entries)), wake_(core) {}

Task<void> ClaimBatch::run(ClaimService& claims, Clock& clock, Duration limit) {
  const Instant deadline = clock.now() + limit;
  for (std::size_t index = 0; index < entries_.size() && !over_; ++index) {
    if (entries_[index].answer) continue;
    ++unanswered_;
    spawn(core_, run_one(shared_from_this(), claims, index, deadline));
  }
  while (!over_ && unanswered_ > 0 && clock.now() < deadline) co_await wake_.wait_until(clock, deadline);
  over_ = true;
  const std::string waited = format_duration(std::chrono::round<std::chrono::milliseconds>(limit));
  for (ClaimEntry& entry : entries_)
    if (!entry.answer)
      entry.answer =
          fail(Code::kDeadlineExceeded, "{}: no answer within {}; the work goes on and the kubelet will ask again",
               quoted_ref(entry.ref), waited);
}

void ClaimBatch::abort(Error reason) {
  if (std::exchange(over_, true)) return;
  outcome_ = std::unexpected(std::move(reason));
  wake_.wake();
}

Task<void> ClaimBatch::run_one(std::shared_ptr<ClaimBatch> batch, ClaimService& claims, std::size_t index,
                               Instant deadline) {
  ClaimRef ref = batch->entries_[index].ref;
  Result<std::vector<PreparedDevice>> answer;
  if (batch->operation_ == ClaimOperation::kPrepare) {
    answer = co_await claims.prepare(std::move(ref), deadline);
  } else {
    Status done = co_await claims.unprepare(std::move(ref), deadline);
    if (!done) answer = std::unexpected(std::move(done.error()));
  }
  if (batch->over_) co_return;
  batch->entries_[index].answer = std::move(answer);
  if (--batch->unanswered_ == 0) batch->wake_.wake();
}

}  // namespace cardcage
