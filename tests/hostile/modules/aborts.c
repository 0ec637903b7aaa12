#include <stdio.h>
#include <stdlib.h>

#include "misbehave.h"

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  fputs("assertion failed: fans > 0\n", stderr);
  abort();
}
MODULE_WITH(.check = check)
