#include "tests/modules/base.h"
static const cage_module table = {
    .magic = CAGE_MAGIC, .struct_size = 64, .abi_minor = CAGE_ABI_MINOR, BASE_NAMES, BASE_FUNCTIONS};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
