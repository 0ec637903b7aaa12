// Places where tests kill a process. The state on disk and in the hardware at each of them must be enough to recover.
#pragma once

#include <functional>

namespace cardcage {

enum class FaultPoint {
  kBeforeCommit,  // of the ledger, on its writer thread; all the others are on the core
  kAfterCommit,   // of the ledger, before anybody has learned that it succeeded
  kAfterIntent,
  kAfterModulePrepare,
  kAfterCdiWrite,
  kAfterPrepared,
  kAfterModuleUnprepare,
  kAfterCdiRemove,
  kAfterRelease,
  kBeforeTakeOver,  // of a module that is replaced, once the new instance has listed its devices
  kAfterTakeOver,
  kAfterReload,
};

// Set by tests only.
using FaultHook = std::function<void(FaultPoint)>;

}  // namespace cardcage
