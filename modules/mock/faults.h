/* Misbehaviour on demand: calls that are slow, hang, crash or fail. */
#ifndef MOCK_FAULTS_H_
#define MOCK_FAULTS_H_
#include <cardcage/module.h>
#include <pthread.h>
#include <stdbool.h>

/* Each kind of call, with its name in scripts. */
#define CALL_KINDS(KIND)            \
  KIND(CALL_CREATE, "create")       \
  KIND(CALL_START, "start")         \
  KIND(CALL_CONFIGURE, "configure") \
  KIND(CALL_DISCOVER, "discover")   \
  KIND(CALL_PREPARE, "prepare")     \
  KIND(CALL_UNPREPARE, "unprepare") \
  KIND(CALL_BIND, "bind")           \
  KIND(CALL_CHOOSE, "choose")       \
  KIND(CALL_PRE_START, "pre_start") \
  KIND(CALL_CHECK, "check")         \
  KIND(CALL_METRICS, "metrics")     \
  KIND(CALL_LABELS, "labels")       \
  KIND(CALL_CATALOGUE, "catalogue") \
  KIND(CALL_EVENTS, "events")       \
  KIND(CALL_QUIESCE, "quiesce")     \
  KIND(CALL_RESUME, "resume")       \
  KIND(CALL_RESET, "reset")         \
  KIND(CALL_STOP, "stop")

enum call_kind {
#define CALL_KIND(kind, name) kind,
  CALL_KINDS(CALL_KIND)
#undef CALL_KIND
      CALL_KIND_COUNT /* also means: no such call */
};
enum call_kind call_kind_of(cage_str name);

struct refusal { /* fails the call for this device, or the whole call if the device is "*" */
  struct refusal* next;
  char device[64];
  char text[256];
};
struct fault {
  uint64_t delay_ns;
  bool hang, crash;
  struct refusal* refusals;
};
struct faults { /* guarded by the lock: the script changes them while calls run */
  const cage_host* host;
  pthread_mutex_t lock;
  struct fault of[CALL_KIND_COUNT];
};

void faults_init(struct faults* faults, const cage_host* host);
void faults_free(struct faults* faults);

void faults_delay(struct faults* faults, enum call_kind kind, uint64_t delay_ns);
void faults_hang(struct faults* faults, enum call_kind kind);
void faults_crash(struct faults* faults, enum call_kind kind);
/* The rule is "<device or *> [text]". Returns false if the device's name is missing or too long. */
bool faults_refuse(struct faults* faults, enum call_kind kind, cage_str rule);
void faults_heal(struct faults* faults, enum call_kind kind);

/* Begins a call: crashes, hangs, waits or fails on demand. */
cage_status faults_enter(struct faults* faults, enum call_kind kind, const cage_call* call);
/* Fails if the call must fail for this device. */
cage_status faults_device(struct faults* faults, enum call_kind kind, const cage_call* call, const char* device_id);

#endif /* MOCK_FAULTS_H_ */
