/* Starts a process that leaves the worker's process group and does nothing, as a vendor's monitor may. */
#include <unistd.h>

#include "base.h"

static cage_status start(cage_instance* self, const cage_call* call) {
  (void)self, (void)call;
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    for (;;) pause();
  }
  return child < 0 ? CAGE_RESOURCE_EXHAUSTED : CAGE_OK;
}

static const cage_module table = {BASE_TABLE, .start = start};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
