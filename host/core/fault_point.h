// Places where tests kill a process. The state on disk and in the hardware at each of them must be enough to recover.
#pragma once

#include <functional>

namespace cardcage {

enum class FaultPoint {
  kBeforeCommit,  // of the ledger, on its writer thread; all the others are on the core
  kAfterCommit,   // of the ledger, before anybody has learned that it succeeded
  kAfterIntent,
  kAfterJournal,  // a module's note is kept, and the module does not know it yet
  kAfterModulePrepare,
  kAfterCdiWrite,
  kAfterPrepared,
  kAfterModuleUnprepare,
  kAfterCdiRemove,
  kAfterRelease,
  kBeforeTakeOver,  // of a module that is replaced, once the new instance has listed its devices
  kAfterTakeOver,
  kAfterReload,
  kAfterDriverRecord,  // which driver a PCI function had is on disk; the next ones are steps of the switch
  kAfterDriverOverride,
  kAfterDriverUnbind,
  kAfterDriverProbe,
  kAfterDriverClear,    // the override of a function that has its own driver again
  kAfterServiceRecord,  // the process of a service is on disk, and waits for the word to become its program
  kAfterServiceStart,
};

// Set by tests only.
using FaultHook = std::function<void(FaultPoint)>;

}  // namespace cardcage
