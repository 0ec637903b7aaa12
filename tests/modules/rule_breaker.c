/* Keeps all rules but one: option `break` names a rule of host/conformance/rules.cc. Option `file` is a file that two
 * instances share. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

#define LENGTH(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

static struct {
  char broken[64], file[256];
  char prepared[64], released[64], held[64]; /* the uids of the last claims */
  char attached[64];                         /* the uid of a pod */
  int calls;                                 /* counts all calls, so that no two give the same */
  int descriptor, lock;
  const cage_host* host;
  int quiesced, device_quiesced, resumed, starts, crashed;
  pthread_t thread;
  int has_thread;
} self;

static int breaks(const char* rule) { return strcmp(self.broken, rule) == 0; }

static void copy_text(char* to, size_t room, cage_str from) {
  const size_t size = from.size < room ? from.size : room - 1;
  memcpy(to, from.data, size);
  to[size] = '\0';
}

static cage_status refuse(const cage_call* call, cage_status status, const char* why) {
  const cage_str text = {why, strlen(why)};
  call->explain(call, text);
  return status;
}

/* Ignores its deadline if that is near. */
static void oversleep(const cage_call* call) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  if (call->deadline_ns < now_ns + 2000000000u) sleep(20);
}

static sem_t thread_runs; /* a new thread blocks all signals until it runs */

static void* run_thread(void* unused) {
  const struct timespec second = {1, 0};
  sem_post(&thread_runs);
  for (;;) nanosleep(&second, NULL);
  return unused;
}

static void start_thread(int block_signals) {
  sigset_t all, before;
  sigfillset(&all);
  sem_init(&thread_runs, 0, 0);
  pthread_sigmask(block_signals ? SIG_BLOCK : SIG_UNBLOCK, &all, &before);
  self.has_thread = pthread_create(&self.thread, NULL, run_thread, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  sem_wait(&thread_runs);
}

static void stop_thread(void) {
  if (!self.has_thread) return;
  pthread_cancel(self.thread);
  pthread_join(self.thread, NULL);
  self.has_thread = 0;
}

static void state(cage_str device_id, const char* cause, const double* value) {
  const cage_health health = {.struct_size = sizeof health,
                              .state = CAGE_HEALTH_OK,
                              .device_id = device_id,
                              .cause = {cause, strlen(cause)},
                              .value = value == NULL ? 0 : *value,
                              .has_value = value != NULL};
  self.host->health(self.host, &health);
}

static void run_child(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}

/* Breaks a rule without a check: the host notices the breach and logs it. */
static void break_noticed_rule(const cage_values* options) {
  const cage_str first = CAGE_LIT("dev-0"), none = CAGE_LIT(""), line = CAGE_LIT("again");
  const double degrees = 40;
  if (breaks("value-name")) options->string(options, "speed");
  if (breaks("value-type")) options->integer(options, "break");
  if (breaks("value-given")) options->given(options, "speed");
  if (breaks("value-unit")) state(first, "Ecc", &degrees);
  if (breaks("health-id")) state(none, "Ecc", NULL);
  for (int i = 0; breaks("log-flood") && i < 200; ++i) self.host->log(self.host, CAGE_LOG_WARN, line);
}

static void* add_elsewhere(void* out) {
  const cage_device device = {.struct_size = sizeof device, .id = CAGE_LIT("dev-2"), .kind = CAGE_LIT("gpu")};
  cage_snapshot* const sink = out;
  sink->device(sink, &device);
  return NULL;
}

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* options,
                          cage_instance** out) {
  (void)call;
  self.host = host;
  copy_text(self.broken, sizeof self.broken, options->string(options, "break"));
  copy_text(self.file, sizeof self.file, options->string(options, "file"));
  self.descriptor = self.lock = -1;
  break_noticed_rule(options);
  *out = (cage_instance*)(void*)&self;
  return CAGE_OK;
}

static cage_status start(cage_instance* me, const cage_call* call) {
  (void)me;
  if (breaks("start-again") && ++self.starts > 1) return refuse(call, CAGE_INTERNAL, "it ran before");
  if (breaks("start")) return refuse(call, CAGE_FAILED_PRECONDITION, "the driver is not loaded");
  if (breaks("beside")) {
    self.lock = open(self.file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (flock(self.lock, LOCK_EX | LOCK_NB) != 0) return refuse(call, CAGE_UNAVAILABLE, "another instance runs");
  }
  if (breaks("state-crashed")) {
    self.crashed = access(self.file, F_OK) == 0;
    close(open(self.file, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  }
  if (breaks("threads") || breaks("thread-signals")) start_thread(breaks("threads"));
  if (breaks("descriptors")) self.descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (breaks("cloexec")) self.descriptor = open("/dev/null", O_RDONLY);
  if (breaks("quiesce")) self.descriptor = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
  if (breaks("settings")) signal(SIGUSR2, SIG_IGN);
  if (breaks("output")) printf("hello\n");
  if (breaks("processes") && fork() == 0)
    for (;;) pause();
  if (breaks("ended-process")) run_child();
  return CAGE_OK;
}

static cage_status discover(cage_instance* me, const cage_call* call, cage_snapshot* out) {
  (void)me;
  const int value = breaks("discover-again")       ? ++self.calls
                    : breaks("discover-restarted") ? (int)getpid()
                    : breaks("resume")             ? self.resumed
                                                   : 0;
  const cage_attr number = {.name = CAGE_LIT("number"), .type = CAGE_ATTR_INT, .count = 1, .v.i = value};
  cage_device device = {.struct_size = sizeof device,
                        .id = CAGE_LIT("dev-0"),
                        .kind = CAGE_LIT("gpu"),
                        .attrs = &number,
                        .attr_count = 1};
  pthread_t thread;
  const cage_str bad = CAGE_LIT("not an id"), second = CAGE_LIT("dev-1");
  if (breaks("discover")) return refuse(call, CAGE_INTERNAL, "bus error");
  if (breaks("discover-deadline")) oversleep(call);
  out->device(out, &device);
  if (breaks("sink-thread") && pthread_create(&thread, NULL, add_elsewhere, out) == 0) pthread_join(thread, NULL);
  device.id = second;
  out->device(out, &device);
  device.id = bad;
  if (breaks("devices")) out->device(out, &device);
  return CAGE_OK;
}

static int is_same(const char* uid, cage_str other) {
  return strlen(uid) == other.size && memcmp(uid, other.data, other.size) == 0;
}

static cage_status prepare(cage_instance* me, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  (void)me;
  const cage_str key = CAGE_LIT("NUMBER");
  char value[16];
  cage_str text = {value, 0};
  const cage_edits_status* status;
  const cage_network_data in_pod = {.struct_size = sizeof in_pod, .interface_name = CAGE_LIT("net1")};
  const int number = breaks("prepare-again") ? ++self.calls : breaks("prepare-restarted") ? (int)getpid() : 0;
  if (breaks("prepare")) return refuse(call, CAGE_INTERNAL, "no power");
  if (breaks("prepare-each") && claim->alloc_count == 1 && claim->allocs[0]->device_id.data[4] == '1')
    return refuse(call, CAGE_INTERNAL, "no power on the second");
  if (breaks("allocate") && claim->resource.size > 0) return refuse(call, CAGE_INTERNAL, "no names");
  if (breaks("dra-only") && claim->resource.size > 0)
    return refuse(call, CAGE_FAILED_PRECONDITION, "request it with a claim");
  const cage_values* values = claim->alloc_count > 0 ? claim->allocs[0]->values : NULL;
  if (breaks("params") && values != NULL && values->params_kind.size == strlen("OtherConfig"))
    return refuse(call, CAGE_INTERNAL, "cannot do that");
  if (breaks("prepare-after") && is_same(self.released, claim->uid))
    return refuse(call, CAGE_INTERNAL, "the claim was released");
  if (breaks("prepare-deadline")) oversleep(call);
  if (self.quiesced && !breaks("quiesce-prepare")) return refuse(call, CAGE_UNAVAILABLE, "quiesced");
  if (self.device_quiesced && !breaks("quiesce-device")) return refuse(call, CAGE_UNAVAILABLE, "quiesced");
  if (breaks("prepare-failed") && self.held[0] != '\0' && !is_same(self.held, claim->uid))
    return refuse(call, CAGE_FAILED_PRECONDITION, "another claim holds the device");
  for (uint32_t i = 0; i < claim->alloc_count; ++i) {
    if (claim->allocs[i]->device_id.size == strlen("dev-0")) continue;
    if (i > 0) copy_text(self.held, sizeof self.held, claim->uid);
    if (breaks("explain")) return CAGE_NOT_FOUND;
    return refuse(call, CAGE_NOT_FOUND, "no such device");
  }
  copy_text(self.prepared, sizeof self.prepared, claim->uid);
  status = out->extension(out, CAGE_EDITS_STATUS);
  status->network(out, 0, &in_pod);
  text.size = (size_t)snprintf(value, sizeof value, "%d", number);
  if (breaks("prepare-two") && claim->alloc_count > 1) {
    const cage_str other = CAGE_LIT("another");
    out->env(out, 1, key, other);
  }
  return out->env(out, 0, key, text);
}

static cage_status unprepare(cage_instance* me, const cage_call* call, const cage_claim* claim) {
  (void)me;
  const int known = is_same(self.prepared, claim->uid);
  if (breaks("unprepare-again") && is_same(self.released, claim->uid))
    return refuse(call, CAGE_NOT_FOUND, "the claim was released");
  if (breaks("unprepare-unknown") && !known) return refuse(call, CAGE_NOT_FOUND, "the claim is unknown");
  if (breaks("unprepare-gone") && claim->allocs[0]->device_id.size != strlen("dev-0"))
    return refuse(call, CAGE_NOT_FOUND, "no such device");
  if (breaks("state-crashed") && self.crashed && !known) return refuse(call, CAGE_INTERNAL, "the state is lost");
  if (breaks("attach-released") && self.attached[0] != '\0')
    return refuse(call, CAGE_FAILED_PRECONDITION, "a pod has it");
  self.attached[0] = '\0';
  copy_text(self.released, sizeof self.released, claim->uid);
  if (is_same(self.held, claim->uid)) self.held[0] = '\0';
  return CAGE_OK;
}

static cage_status attach(cage_instance* me, const cage_call* call, const cage_claim* claim, const cage_pod* pod) {
  (void)me, (void)claim;
  if (breaks("attach")) return refuse(call, CAGE_INTERNAL, "no cable");
  if (self.attached[0] != '\0' && !is_same(self.attached, pod->uid) && !breaks("attach-again"))
    return refuse(call, CAGE_FAILED_PRECONDITION, "another pod has it");
  copy_text(self.attached, sizeof self.attached, pod->uid);
  return CAGE_OK;
}

static cage_status detach(cage_instance* me, const cage_call* call, const cage_claim* claim, const cage_pod* pod) {
  (void)me, (void)claim;
  if (breaks("attach-crashed") && !is_same(self.attached, pod->uid))
    return refuse(call, CAGE_NOT_FOUND, "the pod is unknown");
  self.attached[0] = '\0';
  return CAGE_OK;
}

static cage_status quiesce(cage_instance* me, const cage_call* call) {
  (void)me, (void)call;
  self.quiesced = 1;
  return CAGE_OK;
}

static cage_status resume(cage_instance* me, const cage_call* call) {
  (void)me, (void)call;
  self.quiesced = 0;
  ++self.resumed;
  return CAGE_OK;
}

static cage_status quiesce_device(cage_instance* me, const cage_call* call, cage_str device_id) {
  (void)me, (void)call, (void)device_id;
  self.device_quiesced = 1;
  return CAGE_OK;
}

static cage_status resume_device(cage_instance* me, const cage_call* call, cage_str device_id) {
  (void)me, (void)call, (void)device_id;
  self.device_quiesced = 0;
  return CAGE_OK;
}

static cage_status stop(cage_instance* me, const cage_call* call) {
  (void)me;
  if (breaks("stop")) return refuse(call, CAGE_INTERNAL, "a thread does not end");
  if (breaks("state-crashed")) unlink(self.file);
  if (!breaks("threads")) stop_thread();
  if (!breaks("descriptors") && self.descriptor >= 0) close(self.descriptor);
  if (self.lock >= 0) close(self.lock);
  return CAGE_OK;
}

static cage_status choose(cage_instance* me, const cage_call* call, const cage_str* available, uint32_t available_count,
                          const cage_str* required, uint32_t required_count, uint32_t want, cage_id_sink* out) {
  (void)me, (void)call, (void)available_count, (void)want;
  return out->id(out, breaks("prefer") || required_count == 0 ? available[0] : required[0]);
}

static cage_status pre_start(cage_instance* me, const cage_call* call, const cage_claim* claim) {
  (void)me, (void)claim;
  if (breaks("pre-start") && ++self.starts > 1) return refuse(call, CAGE_INTERNAL, "it was reset before");
  return CAGE_OK;
}

static const cage_metric heat = {.struct_size = sizeof heat,
                                 .type = CAGE_METRIC_GAUGE,
                                 .name = CAGE_LIT("temperature_celsius"),
                                 .help = CAGE_LIT("now")};
static const cage_metric* const metrics_list[] = {&heat};

static cage_status collect_metrics(cage_instance* me, const cage_call* call, cage_metrics_sink* out) {
  const cage_str good = CAGE_LIT("dev-0"), other = CAGE_LIT("dev-7");
  (void)me, (void)call;
  out->sample(out, 0, good, NULL, 41);
  if (breaks("metrics")) out->sample(out, 0, other, NULL, 41);
  return CAGE_OK;
}

static cage_status collect_labels(cage_instance* me, const cage_call* call, cage_label_sink* out) {
  const cage_str good = CAGE_LIT("example.com/driver"), other = CAGE_LIT("kubernetes.io/role"), value = CAGE_LIT("1");
  (void)me, (void)call;
  out->label(out, good, value);
  if (breaks("labels")) out->label(out, other, value);
  return CAGE_OK;
}

static cage_status collect_catalogue(cage_instance* me, const cage_call* call, cage_catalogue_sink* out) {
  const cage_catalogue_entry good = {
      .struct_size = sizeof good, .kind = CAGE_LIT("bitstream"), .name = CAGE_LIT("aes"), .detail = CAGE_LIT("AES")};
  cage_catalogue_entry other = good;
  other.flags = CAGE_CATALOGUE_REFUSED;
  (void)me, (void)call;
  out->entry(out, &good);
  if (breaks("catalogue")) out->entry(out, &good);
  if (breaks("catalogue-reason")) other.detail.size = 0;
  out->entry(out, &other);
  return CAGE_OK;
}

static cage_status events(cage_instance* me, const cage_call* call, const cage_event* const* list, uint32_t count,
                          uint32_t flags) {
  (void)me, (void)list, (void)count;
  if (breaks("events") && (flags & CAGE_EVENTS_LOST) != 0) return refuse(call, CAGE_INTERNAL, "nothing may be lost");
  return CAGE_OK;
}

static cage_status check(cage_instance* me, const cage_call* call, cage_str device_id) {
  const cage_str unlisted = CAGE_LIT("dev-9");
  (void)me, (void)call;
  state(device_id, "Ecc", NULL);
  state(device_id, breaks("causes") ? "Fan" : "Link", NULL);
  if (breaks("health")) state(unlisted, "Ecc", NULL);
  return CAGE_OK;
}

static cage_status reset(cage_instance* me, const cage_call* call, cage_str device_id) {
  (void)me, (void)call;
  state(device_id, "Ecc", NULL);
  if (!breaks("reset")) state(device_id, breaks("causes") ? "Fan" : "Link", NULL);
  return CAGE_OK;
}

static const void* extension(const char* id) {
  static const cage_pre_start before_start = {.struct_size = sizeof before_start, .pre_start = pre_start};
  static const cage_quiesce of_device = {
      .struct_size = sizeof of_device, .quiesce = quiesce_device, .resume = resume_device};
  static const cage_metrics metrics = {.struct_size = sizeof metrics,
                                       .metric_count = LENGTH(metrics_list),
                                       .metrics = metrics_list,
                                       .collect = collect_metrics};
  static const cage_labels labels = {.struct_size = sizeof labels, .collect = collect_labels};
  static const cage_catalogue catalogue = {.struct_size = sizeof catalogue, .collect = collect_catalogue};
  static const cage_watch watch = {.struct_size = sizeof watch, .events = events};
  static const cage_preferred preferred = {.struct_size = sizeof preferred, .choose = choose};
  static const cage_reset of_hardware = {.struct_size = sizeof of_hardware, .reset = reset};
  static const cage_sandbox sandbox = {.struct_size = sizeof sandbox, .attach = attach, .detach = detach};
  if (strcmp(id, CAGE_EXT_SANDBOX) == 0) return &sandbox;
  if (strcmp(id, CAGE_EXT_RESET) == 0) return &of_hardware;
  if (strcmp(id, CAGE_EXT_PREFERRED) == 0) return &preferred;
  if (strcmp(id, CAGE_EXT_CATALOGUE) == 0) return &catalogue;
  if (strcmp(id, CAGE_EXT_WATCH) == 0) return &watch;
  if (strcmp(id, CAGE_EXT_PRE_START) == 0) return &before_start;
  if (strcmp(id, CAGE_EXT_QUIESCE) == 0) return &of_device;
  if (strcmp(id, CAGE_EXT_METRICS) == 0) return &metrics;
  return strcmp(id, CAGE_EXT_LABELS) == 0 ? &labels : NULL;
}

static const cage_option broken_rule = {.struct_size = sizeof(cage_option),
                                        .type = CAGE_OPTION_STRING,
                                        .name = CAGE_LIT("break"),
                                        .help = CAGE_LIT("rule")};
static const cage_option shared_file = {
    .struct_size = sizeof(cage_option), .type = CAGE_OPTION_STRING, .name = CAGE_LIT("file"), .help = CAGE_LIT("path")};
static const cage_option* const options[] = {&broken_rule, &shared_file};

static const cage_cause ecc = {.struct_size = sizeof ecc, .name = CAGE_LIT("Ecc"), .help = CAGE_LIT("memory")};
static const cage_cause link_down = {
    .struct_size = sizeof link_down, .name = CAGE_LIT("Link"), .help = CAGE_LIT("link")};
static const cage_cause* const causes[] = {&ecc, &link_down};

#define NAMES_OF(kind_) \
  .struct_size = sizeof(cage_params_schema), .api_version = CAGE_LIT("example.com/v1"), .kind = CAGE_LIT(kind_)
static const cage_params_schema card_config = {NAMES_OF("CardConfig")}, other_config = {NAMES_OF("OtherConfig")};
static const cage_params_schema* const schemas[] = {&card_config, &other_config};

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  BASE_NAMES,
                                  .options = options,
                                  .option_count = LENGTH(options),
                                  .create = create,
                                  .start = start,
                                  .discover = discover,
                                  .prepare = prepare,
                                  .unprepare = unprepare,
                                  .check = check,
                                  .quiesce = quiesce,
                                  .resume = resume,
                                  .stop = stop,
                                  .destroy = base_destroy,
                                  .extension = extension,
                                  .schemas = schemas,
                                  .schema_count = LENGTH(schemas),
                                  .causes = causes,
                                  .cause_count = LENGTH(causes)};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
