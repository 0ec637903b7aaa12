/* Reports a text that lies nowhere. */
#include <signal.h>

#include "misbehave.h"

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  const cage_health health = {.struct_size = sizeof health,
                              .state = CAGE_HEALTH_OK,
                              .device_id = {(const char*)(uintptr_t)16, 5},
                              .timeout_s = 0};
  signal(SIGSEGV, SIG_DFL); /* not the handler of a sanitizer */
  base_host->health(base_host, &health);
  return CAGE_OK;
}
MODULE_WITH(.check = check)
