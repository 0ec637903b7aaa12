// Restores CDI files that another program has removed: without them no container of a prepared pod starts again.
#pragma once

#include <functional>
#include <vector>

#include "host/cdi/writer.h"
#include "host/core/delayed_call.h"
#include "host/core/folder_watch.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// [core] Watches from its construction on, after recover_cdi() has written all files. Restores missing ones after a
// second, or after half a minute where the node's inotify watches are used up. All arguments outlive it. `restored`
// gets the claims, whose edits may not fit the node any more.
class CdiKeeper {
 public:
  using Restored = std::function<void(std::vector<ClaimKey>)>;
  CdiKeeper(asio::io_context& core, Clock& clock, const Ledger& ledger, const CdiWriter& cdi, Restored restored);

 private:
  void watch();
  void restore_soon();
  void restore();
  void check_later();

  const Ledger& ledger_;
  const CdiWriter& cdi_;
  const Restored restored_;
  DelayedCall restoring_, checking_;
  FolderWatch watch_;
};

}  // namespace cardcage
