// Fault points in the names of tests.
#pragma once

#include <string>

#include "host/core/fault_point.h"

namespace cardcage {

inline std::string name_of(FaultPoint point) {
  switch (point) {
    case FaultPoint::kBeforeCommit: return "BeforeCommit";
    case FaultPoint::kAfterCommit: return "AfterCommit";
    case FaultPoint::kAfterIntent: return "AfterIntent";
    case FaultPoint::kAfterJournal: return "AfterJournal";
    case FaultPoint::kAfterModulePrepare: return "AfterModulePrepare";
    case FaultPoint::kAfterCdiWrite: return "AfterCdiWrite";
    case FaultPoint::kAfterPrepared: return "AfterPrepared";
    case FaultPoint::kAfterModuleUnprepare: return "AfterModuleUnprepare";
    case FaultPoint::kAfterCdiRemove: return "AfterCdiRemove";
    case FaultPoint::kAfterRelease: return "AfterRelease";
    case FaultPoint::kBeforeTakeOver: return "BeforeTakeOver";
    case FaultPoint::kAfterTakeOver: return "AfterTakeOver";
    case FaultPoint::kAfterReload: return "AfterReload";
    case FaultPoint::kAfterDriverRecord: return "AfterDriverRecord";
    case FaultPoint::kAfterDriverOverride: return "AfterDriverOverride";
    case FaultPoint::kAfterDriverUnbind: return "AfterDriverUnbind";
    case FaultPoint::kAfterDriverProbe: return "AfterDriverProbe";
    case FaultPoint::kAfterDriverClear: return "AfterDriverClear";
    case FaultPoint::kAfterServiceRecord: return "AfterServiceRecord";
    case FaultPoint::kAfterServiceStart: return "AfterServiceStart";
  }
  return "?";
}

}  // namespace cardcage
