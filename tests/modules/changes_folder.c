/* Changes the working folder while it is loaded. */
#include <unistd.h>

#include "base.h"

__attribute__((constructor)) static void leave(void) {
  if (chdir("/proc") != 0) _exit(1);
}
static const cage_module table = {BASE_TABLE};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
