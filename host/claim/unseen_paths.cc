#include "host/claim/unseen_paths.h"

namespace cardcage {

static constexpr Duration kUnseenPause = std::chrono::milliseconds(100);

void UnseenPaths::look_soon(ClaimKey claim) {
  claims_.insert(std::move(claim));
  if (soon_.pending()) return;
  soon_.call_after(kUnseenPause, [this] { spawn(core_, look(weak_from_this(), core_, clock_, ledger_, claims_)); });
}

Task<void> UnseenPaths::look(std::weak_ptr<UnseenPaths> weak, asio::io_context& core, Clock& clock, Ledger& ledger,
                             std::set<ClaimKey> claims) {
  co_await note_unseen(core, clock, weak, ledger, claims);
  if (const auto self = weak.lock())
    for (const ClaimKey& claim : claims) self->claims_.erase(claim);
}

}  // namespace cardcage
