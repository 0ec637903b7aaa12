#include "host/dra/claim_batch.h"

#include <algorithm>
#include <unordered_map>

#include "host/core/ascii.h"

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
    // The fields become parts of file names and URLs.
    if (!is_plain_file_name(*value))
      return fail(Code::kInvalidArgument, "{} '{}' of a claim is not a Kubernetes name", name, *value);
  }
  return {};
}

using ClaimResult = Result<std::vector<PreparedDevice>>;

Task<void> run_claim(ClaimService& claims, ClaimOperation operation, ClaimRef ref, Instant deadline,
                     OneShot<ClaimResult> done) {
  ClaimResult result;
  if (operation == ClaimOperation::kPrepare) {
    result = co_await claims.prepare(std::move(ref), deadline);
  } else {
    const Status released = co_await claims.unprepare(std::move(ref), deadline);
    if (!released) result = std::unexpected(released.error());
  }
  done.set(std::move(result));
}

}  // namespace

ClaimBatch check_claims(std::vector<ClaimRef> claims) {
  ClaimBatch entries;
  entries.reserve(claims.size());
  std::unordered_map<std::string, std::size_t> by_uid;
  for (ClaimRef& ref : claims) {
    const auto [known, added] = by_uid.emplace(ref.uid, entries.size());
    if (!added) {
      ClaimEntry& first = entries[known->second];
      if (!(first.ref == ref))
        first.result = fail(Code::kInvalidArgument, "uid '{}' is named twice, as {} and {}", ref.uid,
                            quoted_ref(first.ref), quoted_ref(ref));
      continue;
    }
    ClaimEntry& entry = entries.emplace_back();
    if (auto checked = check(ref); !checked) entry.result = std::unexpected(checked.error());
    entry.ref = std::move(ref);
  }
  return entries;
}

Task<ClaimBatch> run_claims(asio::io_context& core, ClaimService& claims, ClaimOperation operation, ClaimBatch batch,
                            Instant deadline) {
  std::vector<std::pair<ClaimEntry*, OneShot<ClaimResult>>> running;
  for (ClaimEntry& entry : batch) {
    if (entry.result) continue;
    const auto& [waiting, done] = running.emplace_back(&entry, core);
    spawn(core, run_claim(claims, operation, entry.ref, deadline, done));
  }
  for (const auto& [entry, done] : running) entry->result = co_await done.wait();
  co_return batch;
}

}  // namespace cardcage
