/* Reports more devices than a host takes. */
#include <stdio.h>

#include "tests/modules/base.h"

enum { kDevices = 12000 };

static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  (void)self, (void)call;
  for (int number = 0; number < kDevices; ++number) {
    char id[32];
    const int size = snprintf(id, sizeof id, "dev-%d", number);
    const cage_device device = {.struct_size = sizeof device, .id = {id, (size_t)size}, .kind = CAGE_LIT("gpu")};
    out->device(out, &device);
  }
  return CAGE_OK;
}
static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof table,
                                  .abi_minor = CAGE_ABI_MINOR,
                                  BASE_NAMES,
                                  .create = base_create,
                                  .discover = discover,
                                  .prepare = base_prepare,
                                  .unprepare = base_unprepare,
                                  .destroy = base_destroy};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
