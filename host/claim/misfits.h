// Finds container edits of a prepared claim that do not fit the node any more: a driver may have been replaced since.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/core/task.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// A host path of edits that does not exist, or that is another device node than the edits say.
struct Misfit {
  std::string path;
  std::string what;  // "'/dev/acme0' is device 240:7 now, not 240:0"
};

using Misfits = std::vector<Misfit>;

// The misfits of all parts, without paths that the daemon could not see after the prepare either: in a container it
// sees few paths of the host. A thread of its own looks, since a path may be on a file system that does not respond;
// after a second without a result, there are no misfits.
Task<Misfits> find_misfits(asio::io_context& core, Clock& clock, std::shared_ptr<const ClaimRecord> record);
// Notes in the records of claims that were just prepared which of their paths the daemon does not see. Does not touch
// the ledger after the end of its user.
Task<void> note_unseen(asio::io_context& core, Clock& clock, std::weak_ptr<const void> user, Ledger& ledger,
                       std::set<ClaimKey> claims);

}  // namespace cardcage
