// Puts CDI files back that somebody else has removed: without its file no container of a prepared pod starts again.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "host/cdi/writer.h"
#include "host/core/folder_watch.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// [core] From its birth on, when recover_cdi() has written them all; both arguments outlive it. What is gone is back
// after a second.
class CdiKeeper {
 public:
  CdiKeeper(asio::io_context& core, const Ledger& ledger, const CdiWriter& cdi);

 private:
  void watch();
  void look_soon();
  void look();

  const Ledger& ledger_;
  const CdiWriter& cdi_;
  asio::steady_timer soon_;
  bool due_ = false;
  FolderWatch watch_;
};

}  // namespace cardcage
