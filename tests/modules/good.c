#include "base.h"
static const cage_module table = {BASE_TABLE};
const cage_module* cage_module_v1(uint32_t host_minor) { return host_minor > 0 ? &table : NULL; }
