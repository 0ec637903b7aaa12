/* Calls all host services at once from threads that the host does not know. */
#include <pthread.h>
#include <stdio.h>

#include "misbehave.h"

enum { THREADS = 8, ROUNDS = 200 };

static void* use_host(void* id) {
  const cage_str line = CAGE_LIT("one line of many");
  for (int i = 0; i < ROUNDS; ++i) {
    report_text(id);
    base_host->rescan(base_host);
    if (base_host->log_enabled(base_host, CAGE_LOG_TRACE)) base_host->log(base_host, CAGE_LOG_TRACE, line);
    base_host->log(base_host, CAGE_LOG_INFO, line);
    base_host->extension(base_host, "no.such/1");
  }
  return NULL;
}

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  pthread_t threads[THREADS];
  char ids[THREADS][8];
  int started = 0;
  while (started < THREADS) {
    snprintf(ids[started], sizeof ids[started], "dev-%d", started);
    if (pthread_create(&threads[started], NULL, use_host, ids[started]) != 0) break;
    ++started;
  }
  for (int i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  return started == THREADS ? CAGE_OK : CAGE_RESOURCE_EXHAUSTED;
}
MODULE_WITH(.check = check)
