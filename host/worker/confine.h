// Restricts a worker before it loads its module: resource limits, user, capabilities, system calls.
#pragma once

#include "cardcage/worker.pb.h"
#include "host/core/result.h"

namespace cardcage {

// [main thread] Call it while there is no other thread: later threads inherit the restrictions. It always sets
// no_new_privs. Errors name the key of [module.process] that cannot be satisfied.
Status confine(const worker::v1::Confinement& wanted);

}  // namespace cardcage
