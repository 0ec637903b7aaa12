/* A module that sleeps until it is woken. Option `behave` is the behaviour of events(). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

enum { PIPES = 70 };

struct instance {
  const cage_host* host;
  char behave[32], release[256];
  int descriptor, writer, many[PIPES];
};
static struct instance self;

static void copy_text(char* to, size_t room, cage_str from) {
  const size_t size = from.size < room ? from.size : room - 1;
  memcpy(to, from.data, size);
  to[size] = '\0';
}

static const cage_poll* polling(void) { return self.host->extension(self.host, CAGE_HOST_POLL); }

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* options,
                          cage_instance** out) {
  (void)call;
  memset(&self, 0, sizeof self);
  self.host = host;
  self.descriptor = self.writer = -1;
  const cage_str* behaviours = NULL;
  if (options->list(options, "behave", &behaviours) > 0) copy_text(self.behave, sizeof self.behave, behaviours[0]);
  copy_text(self.release, sizeof self.release, options->string(options, "release"));
  *out = (cage_instance*)(void*)&self;
  return CAGE_OK;
}

static void close_all(void) {
  if (self.descriptor >= 0) close(self.descriptor);
  if (self.writer >= 0) close(self.writer);
  for (int i = 0; i < PIPES; ++i)
    if (self.many[i] > 0) close(self.many[i]);
  self.descriptor = self.writer = -1;
  memset(self.many, 0, sizeof self.many);
}

/* Does not call remove(): the host drops the registrations. */
static cage_status stop(cage_instance* me, const cage_call* call) {
  (void)me, (void)call;
  close_all();
  return CAGE_OK;
}

static void touch(const char* what) {
  char path[300];
  snprintf(path, sizeof path, "%s.%s", self.release, what);
  const int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
}

static void hang(void) {
  touch("entered");
  const struct timespec pause = {0, 1000 * 1000};
  for (int i = 0; i < 20000 && access(self.release, F_OK) != 0; ++i) nanosleep(&pause, NULL);
  touch("left");
}

static cage_status say(const cage_call* call, cage_status status, const char* text) {
  const cage_str said = {text, strlen(text)};
  call->explain(call, said);
  return status;
}

/* Explains the events, and fails, so that the caller sees the explanation. */
static cage_status tell(const cage_call* call, const cage_event* const* events, uint32_t count, uint32_t flags) {
  char text[512];
  size_t used = (size_t)snprintf(text, sizeof text, "flags %u", flags);
  for (uint32_t i = 0; i < count && used < sizeof text; ++i) {
    const int size = events[i]->text.size < 64 ? (int)events[i]->text.size : 64;
    used += (size_t)snprintf(text + used, sizeof text - used, ", %u at %llu '%.*s' %s", events[i]->type,
                             (unsigned long long)(events[i]->type == CAGE_EVENT_DESCRIPTOR ? 0 : events[i]->time_ns),
                             size, events[i]->text.data,
                             events[i]->descriptor < 0                  ? "none"
                             : events[i]->descriptor == self.descriptor ? "mine"
                                                                        : "another");
  }
  return say(call, CAGE_ABORTED, text);
}

static cage_status events(cage_instance* me, const cage_call* call, const cage_event* const* list, uint32_t count,
                          uint32_t flags) {
  (void)me;
  if (strcmp(self.behave, "hang") == 0) hang();
  if (strcmp(self.behave, "crash") == 0) _exit(9);
  return strcmp(self.behave, "tell") == 0 ? tell(call, list, count, flags) : CAGE_OK;
}

static cage_status add_many(void) {
  cage_status status = CAGE_OK;
  for (int i = 0; i < PIPES && status == CAGE_OK; ++i) {
    self.many[i] = eventfd(0, EFD_CLOEXEC);
    status = polling()->add(self.host, self.many[i]);
  }
  return status;
}

static cage_status add_pipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return CAGE_INTERNAL;
  self.descriptor = ends[0];
  self.writer = ends[1];
  return polling()->add(self.host, self.descriptor);
}

static cage_status poll_regular_file(void) {
  self.descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  return polling()->add(self.host, self.descriptor);
}

static cage_status poll_closed(void) {
  const int descriptor = eventfd(0, EFD_CLOEXEC);
  close(descriptor);
  return polling()->add(self.host, descriptor);
}

static cage_status close_polled(void) {
  close_all();
  return CAGE_OK;
}

static cage_status remove_pipe(void) { return polling()->remove(self.host, self.descriptor); }
static cage_status write_pipe(void) { return write(self.writer, "x", 1) == 1 ? CAGE_OK : CAGE_INTERNAL; }
static cage_status drain_pipe(void) {
  char bytes[64];
  while (read(self.descriptor, bytes, sizeof bytes) > 0) {
  }
  return CAGE_OK;
}

/* The "device" is the action. */
static cage_status reset(cage_instance* me, const cage_call* call, cage_str device_id) {
  static const struct {
    const char* name;
    cage_status (*run)(void);
  } orders[] = {{"pipe", add_pipe}, {"write", write_pipe},       {"drain", drain_pipe},   {"remove", remove_pipe},
                {"many", add_many}, {"file", poll_regular_file}, {"closed", poll_closed}, {"close", close_polled}};
  (void)me;
  for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
    if (device_id.size != strlen(orders[i].name) || memcmp(device_id.data, orders[i].name, device_id.size) != 0)
      continue;
    const cage_status status = orders[i].run();
    return status == CAGE_OK ? CAGE_OK : say(call, status, "not done");
  }
  return CAGE_OK;
}

static const void* extension(const char* id) {
  static const cage_str messages[] = {CAGE_LIT("watcher: "), CAGE_LIT("NVRM: Xid")}, subsystems[] = {CAGE_LIT("net")};
  static const cage_watch watch = {.struct_size = sizeof watch,
                                   .kernel_log = messages,
                                   .uevents = subsystems,
                                   .kernel_log_count = 2,
                                   .uevent_count = 1,
                                   .events = events};
  static const cage_reset ordered = {.struct_size = sizeof ordered, .reset = reset};
  if (strcmp(id, CAGE_EXT_RESET) == 0) return &ordered;
  return strcmp(id, CAGE_EXT_WATCH) == 0 ? &watch : NULL;
}

static const cage_option behave_option = {.struct_size = sizeof(cage_option),
                                          .type = CAGE_OPTION_LIST,
                                          .name = CAGE_LIT("behave"),
                                          .help = CAGE_LIT("tell, hang or crash")};
static const cage_option release_option = {.struct_size = sizeof(cage_option),
                                           .type = CAGE_OPTION_STRING,
                                           .name = CAGE_LIT("release"),
                                           .help = CAGE_LIT("a hanging call returns once this file exists")};
static const cage_option* const options[] = {&behave_option, &release_option};

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  BASE_NAMES,
                                  .options = options,
                                  .option_count = 2,
                                  .create = create,
                                  .discover = base_discover,
                                  .prepare = base_prepare,
                                  .unprepare = base_unprepare,
                                  .stop = stop,
                                  .destroy = base_destroy,
                                  .extension = extension};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
