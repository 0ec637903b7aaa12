/* Starts a thread when it is loaded. */
#include <pthread.h>
#include <unistd.h>

#include "base.h"

static void* run_thread(void* unused) {
  for (;;) pause();
  return unused;
}
__attribute__((constructor)) static void start_early(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run_thread, NULL);
}
static const cage_module table = {BASE_TABLE};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
