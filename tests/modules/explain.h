/* The rights and the identity of a module in a worker, reported as the explanation of a failed call. */
#ifndef TESTS_MODULES_EXPLAIN_H_
#define TESTS_MODULES_EXPLAIN_H_
#include <cardcage/module.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void explain(const cage_call* call, const char* text) {
  cage_str what = {text, strlen(text)};
  call->explain(call, what);
}

/* Explains the module's view of its process. */
static inline void explain_process(const cage_call* call) {
  int open = 0;
  for (int fd = 0; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) != -1;
  int variables = 0;
  while (environ[variables] != NULL) ++variables;
  char text[128];
  snprintf(text, sizeof text, "%d descriptors, %d variables, own group %d", open, variables, getpgrp() == getpid());
  explain(call, text);
}

/* Explains the places of the node's files. */
static inline void explain_roots(const cage_call* call, const cage_host* host) {
  char text[256];
  snprintf(text, sizeof text, "%s %s %s %s", host->sysfs.data, host->procfs.data, host->devfs.data,
           host->driver_root.data);
  explain(call, text);
}

/* The value of a line in /proc/self/status, without the space before it. */
static inline void read_status(const char* name, char* value, size_t room) {
  FILE* status = fopen("/proc/self/status", "re");
  char line[256];
  value[0] = '\0';
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) snprintf(value, room, "%.*s", (int)room - 1, line + strlen(name) + 1);
  if (status != NULL) fclose(status);
  value[strcspn(value, "\n")] = '\0';
}

static inline void explain_rights(const cage_call* call) {
  struct rlimit files = {0, 0};
  getrlimit(RLIMIT_NOFILE, &files);
  char effective[64], privileges[64], filter[64], text[256];
  read_status("CapEff:", effective, sizeof effective);
  read_status("NoNewPrivs:", privileges, sizeof privileges);
  read_status("Seccomp:", filter, sizeof filter);
  errno = 0;
  mount("none", "/nowhere-at-all", "tmpfs", 0, NULL);
  snprintf(text, sizeof text, "nofile %lu, CapEff %s, NoNewPrivs %s, Seccomp %s, mount: %s",
           (unsigned long)files.rlim_cur, effective, privileges, filter, strerror(errno));
  explain(call, text);
}

static inline long forbidden_call(int which) {
  switch (which) {
    case 0: return syscall(SYS_pidfd_getfd, -1, -1, 0);
    case 1: return syscall(SYS_open_by_handle_at, -1, NULL, 0);
    case 2: return syscall(SYS_mount_setattr, -1, NULL, 0, NULL, 0);
    case 3: return syscall(SYS_io_uring_setup, 0, NULL);
    case 4: return syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0);
    case 5: return syscall(SYS_io_uring_register, -1, 0, NULL, 0);
    case 6: return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
    case 7: return syscall(SYS_clone, CLONE_NEWUSER | CLONE_THREAD, NULL, NULL, NULL, 0); /* invalid if not forbidden */
    case 8: return syscall(SYS_clone3, NULL, 0);
    default: return 0;
  }
}

static void* do_nothing(void* unused) { return unused; }

/* Explains the error of each of these calls, and whether threads can still be made. */
static inline void explain_forbidden(const cage_call* call) {
  char text[256];
  size_t size = 0;
  for (int which = 0; which <= 8; ++which) {
    errno = 0;
    forbidden_call(which);
    size += (size_t)snprintf(text + size, sizeof text - size, "%s ", strerrorname_np(errno));
  }
  pthread_t thread;
  const int failed = pthread_create(&thread, NULL, do_nothing, NULL);
  if (failed == 0) pthread_join(thread, NULL);
  snprintf(text + size, sizeof text - size, "thread %d", failed);
  explain(call, text);
}

/* Explains the user of the module. */
static inline void explain_user(const cage_call* call) {
  char effective[64], bounding[64], text[256];
  read_status("CapEff:", effective, sizeof effective);
  read_status("CapBnd:", bounding, sizeof bounding);
  snprintf(text, sizeof text, "uid %u gid %u groups %d, CapEff %s, CapBnd %s", getuid(), getgid(), getgroups(0, NULL),
           effective, bounding);
  explain(call, text);
}

#endif /* TESTS_MODULES_EXPLAIN_H_ */
