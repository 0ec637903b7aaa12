/* A module that was built with a library that no system has yet: it needs a version of a symbol that is missing. */
#include "tests/modules/base.h"
extern void newer_function(void);
static cage_status start(cage_instance* self, const cage_call* call) {
  (void)self, (void)call;
  newer_function();
  return CAGE_OK;
}
static const cage_module table = {BASE_TABLE, .start = start};
const cage_module* cage_module_v1(uint32_t host_minor) {
  (void)host_minor;
  return &table;
}
