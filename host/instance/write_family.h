// cage.write of cage_host: copies the module's request and passes it to the host, which checks it.
#pragma once

#include "cardcage/module.h"

namespace cardcage {

// [any-thread] For every instance: the functions find the instance by their cage_host.
const cage_write* write_family();

}  // namespace cardcage
