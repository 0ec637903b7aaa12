#include "faults.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"

enum { STEP_NS = 200000000 }; /* interval of progress reports */

#define CALL_NAME(kind, name) name,
static const char* const names[] = {CALL_KINDS(CALL_NAME)};
#undef CALL_NAME

enum call_kind call_kind_of(cage_str name) {
  enum call_kind kind = CALL_CREATE;
  while (kind < CALL_KIND_COUNT && !text_is(name, names[kind])) ++kind;
  return kind;
}

void faults_init(struct faults* faults, const cage_host* host) {
  faults->host = host;
  memset(faults->of, 0, sizeof faults->of);
  pthread_mutex_init(&faults->lock, NULL);
}

void faults_free(struct faults* faults) {
  for (enum call_kind kind = CALL_CREATE; kind < CALL_KIND_COUNT; ++kind) faults_heal(faults, kind);
  pthread_mutex_destroy(&faults->lock);
}

void faults_delay(struct faults* faults, enum call_kind kind, uint64_t delay_ns) {
  pthread_mutex_lock(&faults->lock);
  faults->of[kind].delay_ns = delay_ns;
  pthread_mutex_unlock(&faults->lock);
}

void faults_hang(struct faults* faults, enum call_kind kind) {
  pthread_mutex_lock(&faults->lock);
  faults->of[kind].hang = true;
  pthread_mutex_unlock(&faults->lock);
}

void faults_crash(struct faults* faults, enum call_kind kind) {
  pthread_mutex_lock(&faults->lock);
  faults->of[kind].crash = true;
  pthread_mutex_unlock(&faults->lock);
}

bool faults_refuse(struct faults* faults, enum call_kind kind, cage_str rule) {
  struct refusal* refusal = calloc(1, sizeof *refusal);
  if (refusal == NULL) return false;
  cage_str device = text_word(&rule);
  if (rule.size >= sizeof refusal->text) rule.size = sizeof refusal->text - 1;
  text_copy(refusal->text, sizeof refusal->text, rule.size > 0 ? rule : text_of("told to fail"));
  if (device.size == 0 || !text_copy(refusal->device, sizeof refusal->device, device)) {
    free(refusal);
    return false;
  }
  pthread_mutex_lock(&faults->lock);
  refusal->next = faults->of[kind].refusals;
  faults->of[kind].refusals = refusal;
  pthread_mutex_unlock(&faults->lock);
  return true;
}

void faults_heal(struct faults* faults, enum call_kind kind) {
  pthread_mutex_lock(&faults->lock);
  struct refusal* refusal = faults->of[kind].refusals;
  faults->of[kind] = (struct fault){0};
  pthread_mutex_unlock(&faults->lock);
  while (refusal != NULL) {
    struct refusal* next = refusal->next;
    free(refusal);
    refusal = next;
  }
}

/* Waits like well-behaved hardware access: cancel_fd and the deadline end the wait early [R4]. */
static cage_status wait_for(const cage_call* call, uint64_t delay_ns) {
  uint64_t end = now_ns() + delay_ns;
  bool too_late = call->deadline_ns != 0 && call->deadline_ns < end;
  if (too_late) end = call->deadline_ns;
  struct pollfd cancel = {.fd = call->cancel_fd, .events = POLLIN};
  for (uint64_t now = now_ns(); now < end; now = now_ns()) {
    if (CAGE_CAN(call, progress)) {
      call->progress(call, (uint32_t)(100 - (end - now) * 100 / delay_ns), text_of("waiting as told"));
    }
    uint64_t step = end - now < STEP_NS ? end - now : STEP_NS;
    struct timespec left = {.tv_sec = (time_t)(step / 1000000000u), .tv_nsec = (long)(step % 1000000000u)};
    if (ppoll(&cancel, 1, &left, NULL) > 0) {
      return refuse(call, CAGE_CANCELLED,
                    "cancelled during a delay that the options or the script of the mock ask for");
    }
  }
  if (!too_late) return CAGE_OK;
  return refuse(call, CAGE_DEADLINE_EXCEEDED,
                "the deadline passed during a delay that the options or the script of the mock ask for");
}

static struct fault fault_of(struct faults* faults, enum call_kind kind) {
  pthread_mutex_lock(&faults->lock);
  struct fault fault = faults->of[kind];
  pthread_mutex_unlock(&faults->lock);
  return fault;
}

cage_status faults_enter(struct faults* faults, enum call_kind kind, const cage_call* call) {
  struct fault fault = fault_of(faults, kind);
  if (fault.crash) abort();
  if (fault.hang) log_line(faults->host, CAGE_LOG_WARN, "%s hangs until the script heals it", names[kind]);
  while (fault.hang) {
    const struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    fault = fault_of(faults, kind);
  }
  if (fault.delay_ns > 0) {
    cage_status status = wait_for(call, fault.delay_ns);
    if (status != CAGE_OK) return status;
  }
  return faults_device(faults, kind, call, "*");
}

cage_status faults_device(struct faults* faults, enum call_kind kind, const cage_call* call, const char* device_id) {
  char text[sizeof((struct refusal*)0)->text] = "";
  pthread_mutex_lock(&faults->lock);
  for (const struct refusal* refusal = faults->of[kind].refusals; refusal != NULL; refusal = refusal->next) {
    if (strcmp(refusal->device, device_id) == 0) memcpy(text, refusal->text, sizeof text);
  }
  pthread_mutex_unlock(&faults->lock);
  if (text[0] == '\0') return CAGE_OK;
  if (strcmp(device_id, "*") == 0) return refuse(call, CAGE_INTERNAL, "%s", text);
  return refuse(call, CAGE_INTERNAL, "device '%s': %s", device_id, text);
}
