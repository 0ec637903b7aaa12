// The families of cage_host that pass a module's request on to the host, which checks it.
#pragma once

#include "cardcage/module.h"

namespace cardcage {

// [any-thread] For every instance: the functions find the instance by their cage_host.
const cage_service* service_family();
const cage_write* write_family();

}  // namespace cardcage
