/* Ends its process while it is loaded, with the status of success. */
#include <stdlib.h>

#include "tests/modules/base.h"

__attribute__((constructor)) static void leave(void) { exit(0); }
static const cage_module table = {BASE_TABLE};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
