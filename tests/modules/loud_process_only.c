/* Prints, and declares that it needs a process of its own. */
#include <stdio.h>

#include "base.h"

static cage_status start(cage_instance* self, const cage_call* call) {
  (void)self, (void)call;
  printf("hello\n");
  return CAGE_OK;
}
static const cage_module table = {BASE_TABLE, .flags = CAGE_MODULE_PROCESS_ONLY, .start = start};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
