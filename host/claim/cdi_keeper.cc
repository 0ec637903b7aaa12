#include "host/claim/cdi_keeper.h"

#include <set>

#include "host/core/file.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

// Long enough to collect removals: files are mostly removed many at a time.
constexpr Duration kRestoreDelay = std::chrono::seconds(1);
// inotify may be unavailable, and loses events when its queue overflows.
constexpr Duration kCdiCheckInterval = std::chrono::seconds(30);

}  // namespace

CdiKeeper::CdiKeeper(asio::io_context& core, Clock& clock, const Ledger& ledger, const CdiWriter& cdi,
                     Restored restored)
    : ledger_(ledger),
      cdi_(cdi),
      restored_(std::move(restored)),
      restoring_(core, clock),
      checking_(core, clock),
      watch_(core, [this] { restore_soon(); }) {
  watch();
  check_later();
}

void CdiKeeper::check_later() {
  checking_.call_after(kCdiCheckInterval, [this] {
    restore();
    check_later();
  });
}

// The folder may have been replaced. If it cannot be created, the next prepare reports it.
void CdiKeeper::watch() {
  std::ignore = make_folder(cdi_.folder(), 0755);
  std::ignore = watch_.watch(cdi_.folder());
}

void CdiKeeper::restore_soon() {
  if (!restoring_.pending()) restoring_.call_after(kRestoreDelay, [this] { restore(); });
}

void CdiKeeper::restore() {
  watch();
  const auto files = cdi_.list();
  if (!files) return;
  std::set<ClaimKey> present;
  for (const ClaimFile& file : *files) present.insert({file.served.name, file.uid});
  std::vector<ClaimKey> written;
  for (const auto& [key, claim] : ledger_.claims())
    if (is_whole(*claim, ledger_.boot_id()) && !present.contains(key) &&
        cdi_.write(key.driver, key.uid, cdi_spec(*claim)))
      written.push_back(key);
  if (written.empty()) return;
  log(LogLevel::kWarn, "restored CDI files of prepared claims that another program had removed",
      {{"folder", cdi_.folder().native()}, {"files", written.size()}});
  restored_(std::move(written));
}

}  // namespace cardcage
