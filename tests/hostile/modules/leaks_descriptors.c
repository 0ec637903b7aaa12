#include <fcntl.h>

#include "misbehave.h"

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  for (int i = 0; i < 100; ++i)
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return CAGE_RESOURCE_EXHAUSTED;
  return CAGE_OK;
}
MODULE_WITH(.check = check)
