/* Leaves a child behind that has all of its parent's files open. Device "hide": the child leaves the process group.
 * Device "escape": it prints until no process reads, too. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "misbehave.h"

static void print_until_closed(void) {
  static char lines[64 * 1024];
  memset(lines, '.', sizeof lines);
  for (size_t at = 0; at < sizeof lines; at += 128) lines[at] = '\n';
  fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20); /* there is always something to read */
  while (write(STDOUT_FILENO, lines, sizeof lines) > 0) continue;
}

static void run_child(int ready, int hide, int print) {
  if (hide) setsid();
  const ssize_t written = write(ready, "", 1);
  if (print && written == 1) print_until_closed();
  while (!print) pause();
  _exit(0);
}

static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  (void)self, (void)call;
  int ready[2];
  char byte;
  if (pipe2(ready, O_CLOEXEC) != 0) return CAGE_RESOURCE_EXHAUSTED;
  const pid_t child = fork();
  const int escape = strcmp(device_id.data, "escape") == 0;
  if (child == 0) run_child(ready[1], escape || strcmp(device_id.data, "hide") == 0, escape);
  const ssize_t begun = child < 0 ? -1 : read(ready[0], &byte, 1);
  close(ready[0]);
  close(ready[1]);
  char pid[16];
  snprintf(pid, sizeof pid, "%d", (int)child);
  report_text(pid);
  return begun == 1 ? CAGE_OK : CAGE_RESOURCE_EXHAUSTED;
}
MODULE_WITH(.check = check)
