/* Runs all exit handlers and destructors of the process, on a thread other than the main one. */
#include <stdio.h>
#include <stdlib.h>

#include "misbehave.h"

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  puts("no license");
  exit(3);
}
MODULE_WITH(.check = check)
