// Restores CDI files, and tells modules their claims, after a start of the host or the node.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/cdi/writer.h"
#include "host/claim/device_directory.h"
#include "host/ledger/ledger.h"

namespace cardcage {

struct CdiRecovery {
  std::size_t written = 0, removed = 0;
  std::vector<Error> problems;  // the next prepare meets them again and tells the kubelet
};

// Writes the CDI files of all claims prepared in this boot, because another program may have removed them, and removes
// the files of claims that are not in the ledger. After a reboot it writes none: the kubelet prepares every claim
// again.
CdiRecovery recover_cdi(const Ledger& ledger, const CdiWriter& cdi);

// The claims that a module may keep, for Module::reconcile: those prepared or in doubt. Call it when the directory
// knows the module's devices, which identify the claims of a rebuilt ledger or of a renamed module.
std::vector<ModuleClaim> live_claims(const Ledger& ledger, const DeviceDirectory& devices, const std::string& module);

// The modules may touch the devices of a record from here on. If it is of an earlier boot, parts with devices that
// other claims have got since are removed from it.
void adopt_after_reboot(ClaimRecord& record, const DeviceDirectory& devices, const Ledger& ledger);

// The number of claims that hold devices of the module, found in the same way.
std::size_t count_claims(const Ledger& ledger, const DeviceDirectory& devices, const std::string& module);

// The resources through which pods hold devices, by module.
std::map<std::string, std::set<std::string>> held_resources(const Ledger& ledger);

}  // namespace cardcage
