/* Closes all descriptors from the number in the device id up, as a daemonizing library does. */
#include <stdlib.h>
#include <unistd.h>

#include "misbehave.h"

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call;
  return close_range((unsigned)atoi(device_id.data), ~0u, 0) == 0 ? CAGE_OK : CAGE_UNKNOWN;
}
MODULE_WITH(.check = check)
