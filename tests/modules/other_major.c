#include "cardcage/module.h"
CAGE_EXPORT const cage_module* cage_module_v7(uint32_t host_minor);
const cage_module* cage_module_v7(uint32_t host_minor) { return host_minor > 0 ? NULL : NULL; }
