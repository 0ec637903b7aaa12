// The events that a module declares to wait for, checked [R20].
#pragma once

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/event.h"

namespace cardcage {

// [any-thread] Errors name the wrong member.
Result<WatchDeclaration> copy_watch(const cage_watch& family);

}  // namespace cardcage
