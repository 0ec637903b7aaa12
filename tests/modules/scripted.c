/* A module that breaks the rules on demand: option `behave` lists "call=behaviour" pairs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

#define LENGTH(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

struct instance {
  const cage_host* host;
  char behave[32][64];
  uint32_t behaviours;
  char release[256]; /* a hanging call returns once this file exists; it creates "<release>.entered" and
                        "<release>.left" */
  cage_snapshot* kept_snapshot;
  cage_edits* kept_edits;
  cage_id_sink* kept_ids;
};

static struct instance self;

static int behaves(const char* call_and_behaviour) {
  for (uint32_t i = 0; i < self.behaviours; ++i)
    if (strcmp(self.behave[i], call_and_behaviour) == 0) return 1;
  return 0;
}

static void copy_text(char* to, size_t room, cage_str from) {
  size_t size = from.size < room ? from.size : room - 1;
  memcpy(to, from.data, size);
  to[size] = '\0';
}

static void explain(const cage_call* call, const char* text) {
  cage_str what = {text, strlen(text)};
  call->explain(call, what);
}

static void touch(const char* what) {
  char path[300];
  snprintf(path, sizeof path, "%s.%s", self.release, what);
  FILE* file = fopen(path, "we");
  if (file != NULL) fclose(file);
}

static void hang(void) {
  touch("entered");
  const struct timespec pause = {0, 1000 * 1000};
  for (int i = 0; i < 20000 && access(self.release, F_OK) != 0; ++i) nanosleep(&pause, NULL);
  touch("left");
}

/* Explains what the module sees of its process. */
static void explain_process(const cage_call* call) {
  int open = 0;
  for (int fd = 0; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) != -1;
  int variables = 0;
  while (environ[variables] != NULL) ++variables;
  char text[128];
  snprintf(text, sizeof text, "%d descriptors, %d variables, own group %d", open, variables, getpgrp() == getpid());
  explain(call, text);
}

/* The value of a line in /proc/self/status, without the space before it. */
static void read_status(const char* name, char* value, size_t room) {
  FILE* status = fopen("/proc/self/status", "re");
  char line[256];
  value[0] = '\0';
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) snprintf(value, room, "%s", line + strlen(name) + 1);
  if (status != NULL) fclose(status);
  value[strcspn(value, "\n")] = '\0';
}

static void explain_rights(const cage_call* call) {
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

static long forbidden_call(int which) {
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

/* The error of each of these calls, and whether threads can still be made. */
static void explain_forbidden(const cage_call* call) {
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

/* Who the module is. */
static void explain_user(const cage_call* call) {
  char effective[64], bounding[64], text[256];
  read_status("CapEff:", effective, sizeof effective);
  read_status("CapBnd:", bounding, sizeof bounding);
  snprintf(text, sizeof text, "uid %u gid %u groups %d, CapEff %s, CapBnd %s", getuid(), getgid(), getgroups(0, NULL),
           effective, bounding);
  explain(call, text);
}

/* Behaves as told in a call with this name. */
static cage_status behave_in(const cage_call* call, const char* name) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%s=explain", name);
  if (behaves(wanted)) {
    explain(call, "the card in slot 3 is too hot\nopen a window");
    return CAGE_FAILED_PRECONDITION;
  }
  snprintf(wanted, sizeof wanted, "%s=silent", name);
  if (behaves(wanted)) return CAGE_PERMISSION_DENIED;
  snprintf(wanted, sizeof wanted, "%s=number", name);
  if (behaves(wanted)) return 4711;
  snprintf(wanted, sizeof wanted, "%s=hang", name);
  if (behaves(wanted)) hang();
  snprintf(wanted, sizeof wanted, "%s=crash", name);
  if (behaves(wanted)) {
    fprintf(stderr, "about to read register 0x%x\n", 16);
    signal(SIGSEGV, SIG_DFL); /* not the handler of a sanitizer */
    raise(SIGSEGV);
  }
  snprintf(wanted, sizeof wanted, "%s=exit", name);
  if (behaves(wanted)) _exit(7);
  snprintf(wanted, sizeof wanted, "%s=surroundings", name);
  if (behaves(wanted)) {
    explain_process(call);
    return CAGE_ABORTED;
  }
  snprintf(wanted, sizeof wanted, "%s=rights", name);
  if (behaves(wanted)) {
    explain_rights(call);
    return CAGE_ABORTED;
  }
  snprintf(wanted, sizeof wanted, "%s=forbidden", name);
  if (behaves(wanted)) {
    explain_forbidden(call);
    return CAGE_ABORTED;
  }
  snprintf(wanted, sizeof wanted, "%s=user", name);
  if (behaves(wanted)) {
    explain_user(call);
    return CAGE_ABORTED;
  }
  snprintf(wanted, sizeof wanted, "%s=patient", name);
  if (behaves(wanted)) {
    struct pollfd cancelled = {.fd = call->cancel_fd, .events = POLLIN};
    poll(&cancelled, 1, 20000);
    explain(call, call->cancelled(call) ? "gave up" : "nobody cancelled");
    return CAGE_CANCELLED;
  }
  return CAGE_OK;
}

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* options,
                          cage_instance** out) {
  const cage_str* items = NULL;
  uint32_t count = options->list(options, "behave", &items);
  self.host = host;
  for (uint32_t i = 0; i < count && i < LENGTH(self.behave); ++i)
    copy_text(self.behave[self.behaviours++], sizeof self.behave[0], items[i]);
  copy_text(self.release, sizeof self.release, options->string(options, "release"));
  if (behaves("create=ask")) options->integer(options, "no_such_option");
  if (behaves("create=nothing")) return CAGE_OK;
  *out = (cage_instance*)(void*)&self;
  return behave_in(call, "create");
}

static cage_status start(cage_instance* me, const cage_call* call) {
  (void)me;
  return behave_in(call, "start");
}

static void report(cage_snapshot* out, const char* id, const cage_attr* attrs, uint32_t attr_count) {
  cage_device device = {.struct_size = sizeof device,
                        .id = {id, strlen(id)},
                        .kind = CAGE_LIT("gpu"),
                        .attrs = attrs,
                        .attr_count = attr_count};
  out->device(out, &device);
}

static cage_status discover(cage_instance* me, const cage_call* call, cage_snapshot* out) {
  (void)me;
  const cage_attr good[] = {{.name = CAGE_LIT("model"), .type = CAGE_ATTR_STRING, .count = 1, .v.s = CAGE_LIT("X1")}};
  const cage_attr bad[] = {{.name = CAGE_LIT("not good"), .type = CAGE_ATTR_INT, .count = 1, .v.i = 1}};
  report(out, "dev-1", good, 1);
  report(out, "dev-0", NULL, 0);
  if (behaves("discover=bad-device")) report(out, "dev-2", bad, 1);
  self.kept_snapshot = out;
  return behave_in(call, "discover");
}

static cage_status prepare(cage_instance* me, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  (void)me;
  for (uint32_t i = 0; i < claim->alloc_count; ++i) {
    const cage_str key = CAGE_LIT("DEVICE");
    out->env(out, (int32_t)i, key, claim->allocs[i]->device_id);
  }
  const cage_str bad = CAGE_LIT("1BAD"), value = CAGE_LIT("x");
  if (behaves("prepare=bad-edit")) out->env(out, -1, bad, value);
  const cage_bytes state = {claim->uid.data, claim->uid.size};
  out->state(out, state);
  self.kept_edits = out;
  return behave_in(call, "prepare");
}

static cage_status unprepare(cage_instance* me, const cage_call* call, const cage_claim* claim) {
  (void)me;
  if (behaves("unprepare=tell-state")) {
    char text[128];
    snprintf(text, sizeof text, "state %.*s version %u other boot %u", (int)claim->state.size,
             (const char*)claim->state.data, claim->state_version, claim->flags & CAGE_CLAIM_OTHER_BOOT);
    explain(call, text);
    return CAGE_ABORTED;
  }
  return behave_in(call, "unprepare");
}

static void* use_late_sinks(void* unused) {
  (void)unused;
  const cage_str key = CAGE_LIT("LATE"), value = CAGE_LIT("x");
  if (self.kept_snapshot != NULL) report(self.kept_snapshot, "late", NULL, 0);
  if (self.kept_edits != NULL) self.kept_edits->env(self.kept_edits, -1, key, value);
  if (self.kept_ids != NULL) self.kept_ids->id(self.kept_ids, value);
  return NULL;
}

static cage_status check(cage_instance* me, const cage_call* call, cage_str device_id) {
  (void)me;
  if (behaves("check=late-sink")) use_late_sinks(NULL);
  if (behaves("check=stranger")) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, use_late_sinks, NULL) == 0) pthread_join(thread, NULL);
  }
  if (behaves("check=news")) {
    const cage_health health = {.struct_size = sizeof health,
                                .state = CAGE_HEALTH_BAD,
                                .device_id = device_id,
                                .reason = CAGE_LIT("TooHot"),
                                .message = CAGE_LIT("93 degrees"),
                                .timeout_s = 30,
                                .taint = CAGE_TAINT_NO_SCHEDULE};
    self.host->health(self.host, &health);
    self.host->rescan(self.host);
  }
  return behave_in(call, "check");
}

static cage_status stop(cage_instance* me, const cage_call* call) {
  (void)me;
  return behave_in(call, "stop");
}

static cage_status keep(cage_instance* me, const cage_call* call, const cage_claim* const* live, uint32_t count) {
  (void)me;
  char text[128];
  snprintf(text, sizeof text, "%u live, first %.*s", count, count > 0 ? (int)live[0]->uid.size : 0,
           count > 0 ? live[0]->uid.data : "");
  explain(call, text);
  return behaves("reconcile=tell") ? CAGE_ABORTED : CAGE_OK;
}

static cage_status choose(cage_instance* me, const cage_call* call, const cage_str* available, uint32_t available_count,
                          const cage_str* required, uint32_t required_count, uint32_t want, cage_id_sink* out) {
  (void)me;
  const cage_str stranger = CAGE_LIT("dev-9"), nothing = {NULL, 0};
  for (uint32_t i = 0; i < required_count; ++i) out->id(out, required[i]);
  for (uint32_t i = available_count; i > 0 && available_count - i + required_count < want; --i)
    out->id(out, available[i - 1]);
  if (behaves("choose=twice")) out->id(out, available[available_count - 1]);
  if (behaves("choose=stranger")) out->id(out, stranger);
  if (behaves("choose=nothing")) out->id(out, nothing);
  if (behaves("choose=more")) out->id(out, available[0]);
  self.kept_ids = out;
  return behave_in(call, "choose");
}

static cage_status pre_start(cage_instance* me, const cage_call* call, const cage_claim* claim) {
  (void)me;
  if (behaves("pre_start=tell")) {
    char text[128];
    snprintf(text, sizeof text, "%.*s of %.*s, names '%.*s%.*s', state %.*s, params %u",
             (int)claim->allocs[0]->device_id.size, claim->allocs[0]->device_id.data, (int)claim->uid.size,
             claim->uid.data, (int)claim->name_space.size, claim->name_space.data, (int)claim->name.size,
             claim->name.data, (int)claim->state.size, (const char*)claim->state.data, claim->params_count);
    explain(call, text);
    return CAGE_ABORTED;
  }
  return behave_in(call, "pre_start");
}

static const void* extension(const char* id) {
  static const cage_preferred preferred = {.struct_size = sizeof preferred, .choose = choose};
  static const cage_pre_start before_start = {.struct_size = sizeof before_start, .pre_start = pre_start};
  static const cage_reconcile reconcile = {.struct_size = sizeof reconcile, .keep = keep};
  if (strcmp(id, CAGE_EXT_PREFERRED) == 0) return &preferred;
  if (strcmp(id, CAGE_EXT_PRE_START) == 0) return &before_start;
  return strcmp(id, CAGE_EXT_RECONCILE) == 0 ? &reconcile : NULL;
}

static const cage_option behave_option = {.struct_size = sizeof(cage_option),
                                          .type = CAGE_OPTION_LIST,
                                          .name = CAGE_LIT("behave"),
                                          .help = CAGE_LIT("faults as call=behaviour")};
static const cage_option release_option = {.struct_size = sizeof(cage_option),
                                           .type = CAGE_OPTION_STRING,
                                           .name = CAGE_LIT("release"),
                                           .help = CAGE_LIT("a hanging call returns once this file exists")};
static const cage_option* const options[] = {&behave_option, &release_option};

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  .state_version = 3,
                                  .id = CAGE_LIT("example.scripted"),
                                  .version = CAGE_LIT("1.0.0"),
                                  .options = options,
                                  .option_count = LENGTH(options),
                                  .create = create,
                                  .start = start,
                                  .discover = discover,
                                  .prepare = prepare,
                                  .unprepare = unprepare,
                                  .check = check,
                                  .stop = stop,
                                  .destroy = base_destroy,
                                  .extension = extension};
const cage_module* cage_module_v0(uint32_t host_minor) { return host_minor > 0 ? &table : NULL; }
