// For LD_PRELOAD: a sync of a file below BLOCKED_SYNC_BELOW waits while the file BLOCKED_SYNC_WHILE exists, as on a
// disk that hangs.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(int file) {
  const char *below = getenv("BLOCKED_SYNC_BELOW"), *hangs = getenv("BLOCKED_SYNC_WHILE");
  if (!below || !hangs) return;
  char link[32], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return;
  path[size] = 0;
  const struct timespec look = {.tv_nsec = 5000000};
  while (strncmp(path, below, strlen(below)) == 0 && access(hangs, F_OK) == 0) nanosleep(&look, NULL);
}

__attribute__((visibility("default"))) int fsync(int file) {
  wait_for_disk(file);
  return (int)syscall(SYS_fsync, file);
}

__attribute__((visibility("default"))) int fdatasync(int file) {
  wait_for_disk(file);
  return (int)syscall(SYS_fdatasync, file);
}
