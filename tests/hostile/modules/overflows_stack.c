#include <signal.h>

#include "misbehave.h"

static volatile int endless = 1;

static int deeper(const volatile char* above) {
  volatile char frame[1024];
  frame[0] = above[0];
  return endless ? deeper(frame) + frame[0] : 0;
}

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call;
  signal(SIGSEGV, SIG_DFL); /* not the handler of a sanitizer */
  return deeper(device_id.data) == 0 ? CAGE_OK : CAGE_UNKNOWN;
}
MODULE_WITH(.check = check)
