#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"
#include "verbs.h"

enum { MAX_READ = 64 * 1024 };

/* Keeps the events ordered by time, and events of the same time in the order of their arrival. */
static bool schedule(struct script* script, uint64_t due_ns, cage_str command) {
  struct event* event = malloc(sizeof *event + command.size + 1);
  if (event == NULL) return false;
  event->due_ns = due_ns;
  text_copy(event->line, command.size + 1, command);
  struct event** link = &script->events;
  while (*link != NULL && (*link)->due_ns <= due_ns) link = &(*link)->next;
  event->next = *link;
  *link = event;
  return true;
}

void script_init(struct script* script, const cage_host* host, struct devices* devices, struct faults* faults,
                 const char* path) {
  *script =
      (struct script){.host = host, .devices = devices, .faults = faults, .path = path, .stop_fd = -1, .watch_fd = -1};
}

cage_status script_add(struct script* script, const cage_call* call, cage_str line) {
  uint64_t delay_ns = 0;
  cage_str command = {NULL, 0};
  const char* wrong = verbs_check(script->devices, line, &delay_ns, &command);
  if (wrong != NULL) {
    return refuse(call, CAGE_INVALID_ARGUMENT, "option 'script': '%.*s': %s", (int)(line.size < 100 ? line.size : 100),
                  line.data, wrong);
  }
  if (schedule(script, delay_ns, command)) return CAGE_OK;
  return refuse(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
}

static void run_due(struct script* script) {
  while (script->events != NULL && script->events->due_ns <= now_ns()) {
    struct event* event = script->events;
    script->events = event->next;
    log_line(script->host, CAGE_LOG_INFO, "script: %s", event->line);
    verbs_run(script, text_of(event->line));
    free(event);
  }
}

static void read_line(struct script* script, cage_str line, bool old) {
  uint64_t delay_ns = 0;
  cage_str command = {NULL, 0};
  if (line.size == 0 || line.data[0] == '#') return;
  const char* wrong = verbs_check(script->devices, line, &delay_ns, &command);
  if (wrong != NULL) {
    log_line(script->host, CAGE_LOG_WARN, "script_file: '%.*s': %s", (int)(line.size < 100 ? line.size : 100),
             line.data, wrong);
    return;
  }
  cage_str rest = command;
  if (old && text_is(text_word(&rest), "crash")) return; /* otherwise no restart could succeed */
  schedule(script, now_ns() + delay_ns, command);
}

/* Reads the complete lines of a buffer and returns their size in bytes. */
static size_t read_lines(struct script* script, const char* text, size_t size, bool old) {
  size_t taken = 0;
  for (const char* end = memchr(text, '\n', size); end != NULL; end = memchr(text + taken, '\n', size - taken)) {
    read_line(script, (cage_str){text + taken, (size_t)(end - text) - taken}, old);
    taken = (size_t)(end - text) + 1;
  }
  return taken;
}

/* Reads the lines that were appended. A file that became shorter, or was replaced, is read from its start. */
static void read_file(struct script* script, bool old) {
  int fd = open(script->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  char* text = fd < 0 || fstat(fd, &status) != 0 ? NULL : malloc(MAX_READ);
  if (text != NULL) {
    if (status.st_ino != script->inode || status.st_size < script->offset) script->offset = 0;
    script->inode = status.st_ino;
    for (;;) {
      ssize_t got = pread(fd, text, MAX_READ, script->offset);
      size_t taken = got > 0 ? read_lines(script, text, (size_t)got, old) : 0;
      if (taken == 0) break;
      script->offset += (off_t)taken;
    }
  }
  free(text);
  if (fd >= 0) close(fd);
}

/* Returns whether one of the events in the folder concerns the script file. */
static bool drain_watch(const struct script* script) {
  union {
    struct inotify_event first;
    char bytes[4096];
  } buffer;
  bool ours = false;
  for (ssize_t got = read(script->watch_fd, &buffer, sizeof buffer); got > 0;
       got = read(script->watch_fd, &buffer, sizeof buffer)) {
    for (ssize_t at = 0; at < got;) {
      struct inotify_event event;
      memcpy(&event, buffer.bytes + at, sizeof event);
      const char* name = buffer.bytes + at + sizeof event;
      if ((event.mask & IN_Q_OVERFLOW) != 0 || (event.len > 0 && strcmp(name, script->name) == 0)) ours = true;
      at += (ssize_t)(sizeof event + event.len);
    }
  }
  return ours;
}

void script_storm(struct script* script, uint64_t rate, uint64_t duration_ns) {
  uint64_t now = now_ns();
  script->storm = (struct storm){.next_ns = now, .end_ns = now + duration_ns, .step_ns = 1000000000u / rate};
}

/* One device after the other states its temperature; in each second round also that its link is slow, or well again. */
static void send_signal(struct script* script) {
  const struct storm* storm = &script->storm;
  uint64_t round = storm->sent / script->devices->count;
  struct device* device = &script->devices->all[storm->sent % script->devices->count];
  cage_health health = {.struct_size = sizeof health, .state = CAGE_HEALTH_OK, .cause = text_of("Temperature")};
  health.value = 40.0 + (double)(storm->sent % 16);
  health.has_value = 1;
  if (round % 2 == 1) {
    bool slow = round % 4 == 1;
    health = (cage_health){.struct_size = sizeof health, .state = CAGE_HEALTH_OK, .cause = text_of("Link")};
    if (slow) health.state = CAGE_HEALTH_DEGRADED;
    if (slow) health.reason = text_of("Slow");
  }
  devices_state_health(script->devices, device, &health, script->host);
}

/* Returns when the next signal is due; 0 = never. */
static uint64_t send_storm(struct script* script) {
  struct storm* storm = &script->storm;
  for (; storm->next_ns < storm->end_ns && storm->next_ns <= now_ns(); ++storm->sent) {
    send_signal(script);
    storm->next_ns += storm->step_ns;
  }
  return storm->next_ns < storm->end_ns ? storm->next_ns : 0;
}

/* Runs the old lines: lines that the file had at the start are history, and the last of them set the hardware's
 * state. */
static void run_old_lines(struct script* script) {
  script->quiet = true;
  read_file(script, true);
  run_due(script);
  script->quiet = false;
  for (size_t i = 0; i < script->devices->count; ++i)
    if (script->devices->all[i].health != NULL)
      devices_tell_health(script->devices, &script->devices->all[i], script->host);
}

static void* script_thread(void* argument) {
  struct script* script = argument;
  if (script->watch_fd >= 0) run_old_lines(script);
  for (;;) {
    run_due(script);
    uint64_t due_ns = send_storm(script), now = now_ns();
    if (script->events != NULL && (due_ns == 0 || script->events->due_ns < due_ns)) due_ns = script->events->due_ns;
    struct timespec left = {0};
    if (due_ns > now) {
      left.tv_sec = (time_t)((due_ns - now) / 1000000000u);
      left.tv_nsec = (long)((due_ns - now) % 1000000000u);
    }
    struct pollfd ready[] = {{.fd = script->stop_fd, .events = POLLIN}, {.fd = script->watch_fd, .events = POLLIN}};
    ppoll(ready, 2, due_ns != 0 ? &left : NULL, NULL);
    if (ready[0].revents != 0) return NULL;
    if (ready[1].revents != 0 && drain_watch(script)) read_file(script, false);
  }
}

/* Watches the folder instead of the file, because the file may appear later or be replaced. */
static bool watch(struct script* script) {
  char folder[PATH_MAX];
  script->name = strrchr(script->path, '/') + 1;
  size_t size = (size_t)(script->name - script->path);
  if (!text_copy(folder, sizeof folder, (cage_str){script->path, size})) return false;
  script->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  return script->watch_fd >= 0 &&
         inotify_add_watch(script->watch_fd, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) >= 0;
}

/* The thread blocks all signals: they belong to the host [R9]. */
static int start_thread(struct script* script) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&script->thread, NULL, script_thread, script);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

cage_status script_start(struct script* script, const cage_call* call) {
  bool has_file = script->path[0] != '\0';
  if (!has_file && script->events == NULL) return CAGE_OK;
  if (has_file && (script->path[0] != '/' || !watch(script))) {
    return refuse(call, CAGE_FAILED_PRECONDITION, "option 'script_file': cannot watch the folder of '%s': %s",
                  script->path, script->path[0] == '/' ? strerrordesc_np(errno) : "the path is not absolute");
  }
  uint64_t now = now_ns();
  for (struct event* event = script->events; event != NULL; event = event->next) event->due_ns += now;
  script->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int error = script->stop_fd < 0 ? errno : start_thread(script);
  script->running = error == 0;
  if (script->running) return CAGE_OK;
  return refuse(call, CAGE_RESOURCE_EXHAUSTED, "script: cannot start its thread: %s", strerrordesc_np(error));
}

void script_stop(struct script* script) {
  if (script->running) {
    eventfd_write(script->stop_fd, 1);
    pthread_join(script->thread, NULL);
    script->running = false;
  }
  if (script->stop_fd >= 0) close(script->stop_fd);
  if (script->watch_fd >= 0) close(script->watch_fd);
  script->stop_fd = script->watch_fd = -1;
  while (script->events != NULL) {
    struct event* next = script->events->next;
    free(script->events);
    script->events = next;
  }
}
