/* Reports one valid device among invalid ones. */
#include <string.h>

#include "tests/modules/base.h"

static void report(cage_snapshot* out, const char* id, uint32_t struct_size) {
  const cage_device device = {.struct_size = struct_size, .id = {id, strlen(id)}, .kind = CAGE_LIT("gpu")};
  out->device(out, &device);
}
static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  (void)self, (void)call;
  report(out, "dev-0", sizeof(cage_device));
  report(out, "dev-0", sizeof(cage_device));
  report(out, "dev-1", 8);
  report(out, "not an id", sizeof(cage_device));
  report(out, "", sizeof(cage_device));
  out->device(out, NULL);
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
