/* Reads beyond the end of its memory in discover. */
#include <stdlib.h>

#include "tests/modules/base.h"

static cage_status discover_too_much(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  volatile char* const cards = malloc(4);
  const char last = cards[4];
  (void)self, (void)call, (void)out, (void)last;
  free((void*)cards);
  return CAGE_OK;
}

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  BASE_NAMES,
                                  .create = base_create,
                                  .discover = discover_too_much,
                                  .prepare = base_prepare,
                                  .unprepare = base_unprepare,
                                  .destroy = base_destroy};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
