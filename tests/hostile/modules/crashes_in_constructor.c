/* Crashes while it is loaded. */
#include <signal.h>

#include "tests/modules/base.h"

__attribute__((constructor)) static void crash(void) {
  signal(SIGSEGV, SIG_DFL); /* not the handler of a sanitizer */
  raise(SIGSEGV);
}
static const cage_module table = {BASE_TABLE};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
