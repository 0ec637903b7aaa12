// Opens the ledger's file whatever state it is in.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "host/ledger/ledger_store.h"

namespace cardcage {

struct OpenedLedger {
  std::unique_ptr<LedgerStore> store;
  std::vector<ClaimRecord> claims;
  bool rebuilt = false;
};

// A damaged file is renamed to "<file>.damaged-<UTC time>" and a new one is made; one that is new or was damaged is
// filled from our CDI files. What they say is less than the ledger knew (no module state, no request), so those
// claims are in doubt: the next prepare calls the module again, the next unprepare finds it by the device.
Result<OpenedLedger> open_ledger_file(const std::filesystem::path& file, const std::filesystem::path& cdi_folder,
                                      const std::string& boot_id, HistoryBounds bounds);

// The claims that the CDI files of this host tell of.
std::vector<ClaimRecord> claims_from_cdi(const std::filesystem::path& cdi_folder, const std::string& boot_id);

}  // namespace cardcage
