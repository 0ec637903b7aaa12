#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "misbehave.h"

static void handle(int number) { (void)number; }

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  umask(0);
  const int changed = chdir("/proc") == 0 && setlocale(LC_ALL, "C.UTF-8") != NULL;
  return changed && signal(SIGUSR2, handle) != SIG_ERR ? CAGE_OK : CAGE_UNKNOWN;
}
MODULE_WITH(.check = check)
