/* Hangs while it is loaded until the file named by CARDCAGE_TEST_RELEASE exists; see scripted.c. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

static void touch(const char* release, const char* what) {
  char path[300];
  snprintf(path, sizeof path, "%s.%s", release, what);
  FILE* file = fopen(path, "we");
  if (file != NULL) fclose(file);
}

__attribute__((constructor)) static void hang(void) {
  const char* release = getenv("CARDCAGE_TEST_RELEASE");
  if (release == NULL) return;
  touch(release, "entered");
  const struct timespec pause = {0, 1000 * 1000};
  for (int i = 0; i < 20000 && access(release, F_OK) != 0; ++i) nanosleep(&pause, NULL);
  touch(release, "left");
}
static const cage_module table = {BASE_TABLE};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
