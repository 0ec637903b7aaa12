#include "base.h"
extern int vendor_library_init(void);
static cage_status start(cage_instance* self, const cage_call* call) {
  (void)self, (void)call;
  return vendor_library_init() == 0 ? CAGE_OK : CAGE_INTERNAL;
}
static const cage_module table = {BASE_TABLE, .start = start};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
