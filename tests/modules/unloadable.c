#include "base.h"
static const cage_module table = {BASE_TABLE, .flags = CAGE_MODULE_UNLOADABLE};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
