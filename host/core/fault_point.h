// Places where tests end a process: what is on disk and in the hardware then must be enough to go on from.
#pragma once

#include <functional>

namespace cardcage {

enum class FaultPoint {
  kBeforeCommit,  // of the ledger, on its writer thread; the others are on the core
  kAfterCommit,   // of the ledger; what it is about may still be in doubt for whoever comes
  kAfterIntent,
  kAfterModulePrepare,
  kAfterCdiWrite,
  kAfterPrepared,
  kAfterModuleUnprepare,
  kAfterCdiRemove,
  kAfterRelease,
  kBeforeTakeOver,  // of a module that is replaced: the next instance has listed its devices
  kAfterTakeOver,
  kAfterReload,
};

// Empty but in tests.
using FaultHook = std::function<void(FaultPoint)>;

}  // namespace cardcage
