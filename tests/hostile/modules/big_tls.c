/* Thread-local memory that must be allocated when the program starts. */
#include "misbehave.h"

static __thread __attribute__((tls_model("initial-exec"))) volatile char scratch[1 << 20];

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call;
  scratch[0] = device_id.data[0];
  return CAGE_OK;
}
MODULE_WITH(.check = check)
