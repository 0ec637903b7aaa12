/* Returns an edit, although its flag says that containers get nothing. */
#include "base.h"

static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  const cage_device device = {.struct_size = sizeof device, .id = CAGE_LIT("dev-0"), .kind = CAGE_LIT("port")};
  (void)self, (void)call;
  return out->device(out, &device);
}

static cage_status prepare(cage_instance* self, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  const cage_str key = CAGE_LIT("PORT"), value = CAGE_LIT("0");
  (void)self, (void)call, (void)claim;
  return out->env(out, 0, key, value);
}

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  .flags = CAGE_MODULE_NO_PREPARE,
                                  BASE_NAMES,
                                  .create = base_create,
                                  .discover = discover,
                                  .prepare = prepare,
                                  .unprepare = base_unprepare,
                                  .destroy = base_destroy};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
