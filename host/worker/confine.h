// What a worker gives up before it loads its module.
#pragma once

#include "cardcage/worker.pb.h"
#include "host/core/result.h"

namespace cardcage {

// [main thread] While it is the only one: threads that come later inherit all of it. Always no_new_privs; an error says
// which key of [module.process] asks for what cannot be had.
Status confine(const worker::v1::Confinement& wanted);

}  // namespace cardcage
