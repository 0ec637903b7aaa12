#include "host/claim/cdi_keeper.h"

#include <set>

#include "host/core/file.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

// Whoever removes files removes many, and so do we.
constexpr Duration kPause = std::chrono::seconds(1);

}  // namespace

CdiKeeper::CdiKeeper(asio::io_context& core, const Ledger& ledger, const CdiWriter& cdi)
    : ledger_(ledger), cdi_(cdi), soon_(core), watch_(core, [this] { look_soon(); }) {
  watch();
}

// It may be another folder under the same name. If there can be none, the next prepare says so.
void CdiKeeper::watch() {
  std::ignore = make_folder(cdi_.folder(), 0755);
  std::ignore = watch_.watch(cdi_.folder());
}

void CdiKeeper::look_soon() {
  if (std::exchange(due_, true)) return;
  soon_.expires_after(kPause);
  soon_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) look();
  });
}

void CdiKeeper::look() {
  due_ = false;
  watch();
  const auto files = cdi_.list();
  if (!files) return;
  std::set<ClaimKey> there;
  for (const ClaimFile& file : *files) there.insert({file.served.name, file.uid});
  std::size_t written = 0;
  for (const auto& [key, claim] : ledger_.claims())
    if (is_whole(*claim, ledger_.boot_id()) && !there.contains(key) &&
        cdi_.write(key.driver, key.uid, cdi_spec(*claim)))
      ++written;
  if (written > 0)
    log(LogLevel::kWarn, "CDI files of prepared claims were gone and are written again",
        {{"folder", cdi_.folder().native()}, {"files", std::to_string(written)}});
}

}  // namespace cardcage
