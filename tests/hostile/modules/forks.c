/* A child that lives on, with everything that its parent has open. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "misbehave.h"

static void live(int ready) {
  const ssize_t told = write(ready, "", 1);
  while (told == 1) pause();
  _exit(0);
}

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call, (void)device_id;
  int ready[2];
  char byte;
  if (pipe2(ready, O_CLOEXEC) != 0) return CAGE_RESOURCE_EXHAUSTED;
  const pid_t child = fork();
  if (child == 0) live(ready[1]);
  const ssize_t begun = child < 0 ? -1 : read(ready[0], &byte, 1);
  close(ready[0]);
  close(ready[1]);
  char pid[16];
  snprintf(pid, sizeof pid, "%d", (int)child);
  tell(pid);
  return begun == 1 ? CAGE_OK : CAGE_RESOURCE_EXHAUSTED;
}
MODULE_WITH(.check = check)
