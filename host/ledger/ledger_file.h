// Opens the ledger's file in any state.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/ledger/ledger_store.h"

namespace cardcage {

struct OpenedLedger {
  std::unique_ptr<LedgerStore> store;
  std::vector<ClaimRecord> claims;
  std::set<ClaimKey> damaged;  // claims whose rows could not be read
  LoadedHealth health;
  bool rebuilt = false;
};

// Sets a damaged file aside and creates a new one, and a damaged claim in an intact file likewise. A new file is filled
// from our CDI files, a damaged claim from its own. They hold less than the ledger did (no module state, no request),
// so their claims are in doubt: the next prepare calls the module again, the next unprepare finds the module by the
// device. The known health of devices is lost with a damaged file.
Result<OpenedLedger> open_ledger_file(const std::filesystem::path& file, const std::filesystem::path& cdi_folder,
                                      const std::string& boot_id, HistoryBounds bounds, HistoryBounds health_bounds,
                                      WallTime now);

// The claims that the CDI files of this host describe.
std::vector<ClaimRecord> claims_from_cdi(const std::filesystem::path& cdi_folder, const std::string& boot_id);

}  // namespace cardcage
