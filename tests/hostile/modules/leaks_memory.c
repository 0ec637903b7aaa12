#include <stdlib.h>
#include <string.h>

#include "misbehave.h"

static void* volatile leaked; /* reachable, so that a leak checker does not report it */

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  const size_t size = (size_t)128 << 20;
  leaked = malloc(size);
  if (leaked == NULL) return CAGE_RESOURCE_EXHAUSTED;
  memset(leaked, 1, size);
  return CAGE_OK;
}
MODULE_WITH(.check = check)
