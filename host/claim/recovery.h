// What a start of the host does with the claims that it finds in its ledger.
#pragma once

#include <string>
#include <vector>

#include "host/cdi/writer.h"
#include "host/claim/device_directory.h"
#include "host/ledger/ledger.h"

namespace cardcage {

struct CdiRecovery {
  std::size_t written = 0, removed = 0;
  std::vector<Error> problems;  // prepare meets them again and tells the kubelet
};

// Writes the files of all claims prepared in this boot, which a reboot or a cleaner may have taken, and removes those
// of claims that are not in the ledger. After a reboot nothing is written: the kubelet prepares every claim again.
CdiRecovery recover_cdi(const Ledger& ledger, const CdiWriter& cdi);

// What a module may keep, for Module::reconcile: claims prepared or in doubt. Call it when the directory knows the
// module's devices: claims of a rebuilt ledger, or of a module that was renamed, are found by them.
std::vector<ModuleClaim> live_claims(const Ledger& ledger, const DeviceDirectory& devices, const std::string& module);

// How many claims hold devices of the module, found as above.
std::size_t count_claims(const Ledger& ledger, const DeviceDirectory& devices, const std::string& module);

}  // namespace cardcage
