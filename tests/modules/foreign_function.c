/* A function of its table lies in the C library. */
#include <stdlib.h>

#include "base.h"

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  BASE_NAMES,
                                  .create = base_create,
                                  .discover = base_discover,
                                  .prepare = base_prepare,
                                  .unprepare = base_unprepare,
                                  .destroy = (void (*)(cage_instance*))free};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
