#include "tests/modules/base.h"
static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof table,
                                  .abi_minor = 99,
                                  .min_host_minor = 99,
                                  BASE_NAMES,
                                  BASE_FUNCTIONS};
const cage_module* cage_module_v1(uint32_t host_minor) { return host_minor < 100 ? &table : NULL; }
