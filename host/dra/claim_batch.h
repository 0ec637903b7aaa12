// The claims of one RPC on their way through the ClaimService.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/claim/claim_service.h"
#include "host/core/wakeup.h"

namespace cardcage {

enum class ClaimOperation : std::uint8_t { kPrepare, kUnprepare };

// One claim as the request names it, and what became of it. Unprepare answers with no devices.
struct ClaimEntry {
  ClaimRef ref;
  std::optional<Result<std::vector<PreparedDevice>>> answer;
};

// Checks and dedupes what a request names: a claim with a missing or malformed field has its answer already.
// [any-thread]
std::vector<ClaimEntry> claim_entries(std::vector<ClaimRef> claims);

// [core] Made by any thread, used on the core only.
class ClaimBatch : public std::enable_shared_from_this<ClaimBatch> {
 public:
  ClaimBatch(asio::io_context& core, ClaimOperation operation, std::vector<ClaimEntry> entries);

  // Runs the claims next to each other and returns when all have answered, abort() was called, or `limit` is over:
  // then the missing answers say so and the calls go on by themselves, so that the kubelet's retry finds their result.
  // `claims` must outlive those calls.
  Task<void> run(ClaimService& claims, Clock& clock, Duration limit);
  // Makes run() return now; the RPC fails with `reason`. The first reason counts.
  void abort(Error reason);

  // After run():
  const Status& outcome() const { return outcome_; }
  const std::vector<ClaimEntry>& entries() const { return entries_; }  // all answered if the outcome is ok

 private:
  static Task<void> run_one(std::shared_ptr<ClaimBatch> batch, ClaimService& claims, std::size_t index,
                            Instant deadline);

  asio::io_context& core_;
  const ClaimOperation operation_;
  std::vector<ClaimEntry> entries_;
  std::size_t unanswered_ = 0;
  Status outcome_;
  bool over_ = false;
  Wakeup wake_;
};

}  // namespace cardcage
