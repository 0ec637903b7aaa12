// Places where tests kill a process. The state on disk and in the hardware at each of them must be enough to recover.
#pragma once

#include <functional>

namespace cardcage {

enum class FaultPoint {
  kBeforeCommit,  // before a commit of the ledger, on its writer thread; all the others are on the core
  kAfterCommit,   // after a commit of the ledger, before any caller has learned that it succeeded
  kAfterIntent,
  kAfterJournal,  // a module's note is stored, and the module does not know it yet
  kAfterModulePrepare,
  kAfterCdiWrite,
  kAfterPrepared,
  kAfterModuleUnprepare,
  kAfterCdiRemove,
  kAfterRelease,
  kBeforeTakeOver,  // a replaced module's new instance has listed its devices
  kAfterTakeOver,
  kAfterReload,
  kAfterDriverRecord,  // the earlier driver of a PCI function is on disk; the next ones are steps of the switch
  kAfterDriverOverride,
  kAfterDriverUnbind,
  kAfterDriverProbe,
  kAfterDriverClear,    // the override is cleared; the function has its own driver again
  kAfterServiceRecord,  // the process of a service is on disk, and waits for the word to become its program
  kAfterServiceStart,
};

// Set by tests only.
using FaultHook = std::function<void(FaultPoint)>;

}  // namespace cardcage
