/* A module that breaks the rules on demand: option `behave` lists "call=behaviour" pairs. */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "explain.h"

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
  cage_metrics_sink* kept_samples;
  cage_label_sink* kept_labels;
  cage_catalogue_sink* kept_catalogue;
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

/* Behaves as configured in a call with this name. */
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
    explain(call, call->cancelled(call) ? "gave up" : "not cancelled");
    return CAGE_CANCELLED;
  }
  return CAGE_OK;
}

static void read_behaviours(const cage_values* options) {
  const cage_str* items = NULL;
  uint32_t count = options->list(options, "behave", &items);
  self.behaviours = 0;
  for (uint32_t i = 0; i < count && i < LENGTH(self.behave); ++i)
    copy_text(self.behave[self.behaviours++], sizeof self.behave[0], items[i]);
}

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* options,
                          cage_instance** out) {
  self.host = host;
  read_behaviours(options);
  copy_text(self.release, sizeof self.release, options->string(options, "release"));
  if (behaves("create=ask")) options->integer(options, "no_such_option");
  if (behaves("create=nothing")) return CAGE_OK;
  if (behaves("create=roots")) {
    explain_roots(call, host);
    return CAGE_ABORTED;
  }
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
  if (behaves("prepare=third-time") && call->attempt < 3) {
    char text[32];
    snprintf(text, sizeof text, "attempt %u", call->attempt);
    explain(call, text);
    return CAGE_UNAVAILABLE;
  }
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

static cage_status list_entry(cage_catalogue_sink* out, uint32_t flags, const char* kind, const char* name) {
  const cage_catalogue_entry entry = {.struct_size = sizeof entry,
                                      .flags = flags,
                                      .kind = {kind, strlen(kind)},
                                      .name = {name, strlen(name)},
                                      .detail = CAGE_LIT("for tests")};
  return out->entry(out, &entry);
}

static void* use_late_sinks(void* unused) {
  (void)unused;
  const cage_str key = CAGE_LIT("LATE"), value = CAGE_LIT("x");
  if (self.kept_snapshot != NULL) report(self.kept_snapshot, "late", NULL, 0);
  if (self.kept_edits != NULL) self.kept_edits->env(self.kept_edits, -1, key, value);
  if (self.kept_ids != NULL) self.kept_ids->id(self.kept_ids, value);
  if (self.kept_samples != NULL) self.kept_samples->sample(self.kept_samples, 0, value, NULL, 1);
  if (self.kept_labels != NULL) self.kept_labels->label(self.kept_labels, key, value);
  if (self.kept_catalogue != NULL) list_entry(self.kept_catalogue, 0, "bitstream", "late");
  return NULL;
}

static void tell_cause(cage_str device_id, const char* cause, uint32_t state) {
  const cage_health health = {.struct_size = sizeof health,
                              .state = state,
                              .device_id = device_id,
                              .cause = {cause, strlen(cause)},
                              .taint = CAGE_TAINT_INFORM,
                              .taint_key = CAGE_LIT("example.com/health"),
                              .taint_value = {cause, strlen(cause)}};
  self.host->health(self.host, &health);
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
  if (behaves("check=causes")) {
    tell_cause(device_id, "Ecc", CAGE_HEALTH_BAD);
    tell_cause(device_id, "Thermal", CAGE_HEALTH_OK);
    tell_cause(device_id, "Link", CAGE_HEALTH_UNMONITORED);
    self.host->rescan(self.host);
  }
  if (behaves("check=causes-flood")) {
    tell_cause(device_id, "Ecc", CAGE_HEALTH_BAD);
    for (int i = 0; i < 20000; ++i) {
      char cause[32];
      snprintf(cause, sizeof cause, "Ok%d", i);
      tell_cause(device_id, cause, CAGE_HEALTH_OK);
    }
    tell_cause(device_id, "no cause", CAGE_HEALTH_BAD);
    self.host->rescan(self.host);
  }
  return behave_in(call, "check");
}

static cage_status reset(cage_instance* me, const cage_call* call, cage_str device_id) {
  (void)me;
  tell_cause(device_id, "Ecc", CAGE_HEALTH_OK);
  return behave_in(call, "reset");
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

static cage_status configure(cage_instance* me, const cage_call* call, const cage_values* options) {
  (void)me;
  const cage_status status = behave_in(call, "configure");
  if (status == CAGE_OK) read_behaviours(options);
  return status;
}

static const cage_str fan_labels[] = {CAGE_LIT("fan"), CAGE_LIT("side")};
static const cage_metric heat = {.struct_size = sizeof heat,
                                 .type = CAGE_METRIC_GAUGE,
                                 .name = CAGE_LIT("temperature_celsius"),
                                 .help = CAGE_LIT("of the hottest sensor")};
static const cage_metric turns = {.struct_size = sizeof turns,
                                  .type = CAGE_METRIC_COUNTER,
                                  .name = CAGE_LIT("fan_turns_total"),
                                  .help = CAGE_LIT("since the start"),
                                  .labels = fan_labels,
                                  .label_count = 2};
static const cage_metric* const metrics_list[] = {&heat, &turns};

/* Each sample breaks one rule. */
static void report_bad_samples(cage_metrics_sink* out) {
  static char long_text[300];
  memset(long_text, 'x', sizeof long_text);
  const cage_str none = {NULL, 0}, dev_0 = CAGE_LIT("dev-0"), bad_id = CAGE_LIT("not an id");
  const cage_str good[] = {CAGE_LIT("0"), CAGE_LIT("left")}, binary[] = {CAGE_LIT("\xff"), CAGE_LIT("left")};
  const cage_str too_long[] = {{long_text, sizeof long_text}, CAGE_LIT("left")};
  out->sample(out, 2, none, NULL, 1);
  out->sample(out, 0, dev_0, NULL, NAN);
  out->sample(out, 0, dev_0, NULL, INFINITY);
  out->sample(out, 0, bad_id, NULL, 1);
  out->sample(out, 1, dev_0, good, -1);
  out->sample(out, 1, dev_0, NULL, 1);
  out->sample(out, 1, dev_0, binary, 1);
  out->sample(out, 1, dev_0, too_long, 1);
  out->sample(out, 0, none, NULL, 20); /* the same series as the good one */
}

static cage_status collect_metrics(cage_instance* me, const cage_call* call, cage_metrics_sink* out) {
  (void)me;
  const cage_str none = {NULL, 0}, dev_0 = CAGE_LIT("dev-0"), other = CAGE_LIT("dev-9");
  const cage_str labels[] = {CAGE_LIT("a\"b\\c\nd"), CAGE_LIT("")};
  out->sample(out, 0, none, NULL, 20);
  out->sample(out, 1, dev_0, labels, 1e9);
  out->sample(out, 0, other, NULL, -3.5);
  if (behaves("metrics=bad")) report_bad_samples(out);
  const int flood_size = behaves("metrics=flood") ? 300000 : 0;
  for (int i = 0; i < flood_size; ++i) {
    char number[16];
    const cage_str flood[] = {{number, (size_t)snprintf(number, sizeof number, "%d", i)}, CAGE_LIT("left")};
    out->sample(out, 1, dev_0, flood, 1);
  }
  self.kept_samples = out;
  return behave_in(call, "metrics");
}

static void report_bad_labels(cage_label_sink* out) {
  const cage_str value = CAGE_LIT("v"), bad_value = CAGE_LIT("-v"), good = CAGE_LIT("example.com/good");
  const cage_str names[] = {CAGE_LIT("nodomain"),   CAGE_LIT("kubernetes.io/role"),
                            CAGE_LIT("a.k8s.io/x"), CAGE_LIT("Example/x"),
                            CAGE_LIT(""),           CAGE_LIT("example.com/")};
  for (uint32_t i = 0; i < LENGTH(names); ++i) out->label(out, names[i], value);
  out->label(out, good, bad_value);
  out->label(out, good, value);
  out->label(out, good, value);
  for (int i = 0; i < 262; ++i) {
    char text[32];
    const cage_str name = {text, (size_t)snprintf(text, sizeof text, "example.com/n%d", i)};
    out->label(out, name, value);
  }
}

static cage_status collect_labels(cage_instance* me, const cage_call* call, cage_label_sink* out) {
  (void)me;
  const cage_str name = CAGE_LIT("example.com/driver"), version = CAGE_LIT("1.2");
  out->label(out, name, version);
  if (behaves("labels=bad")) report_bad_labels(out);
  self.kept_labels = out;
  return behave_in(call, "labels");
}

static cage_status collect_catalogue(cage_instance* me, const cage_call* call, cage_catalogue_sink* out) {
  (void)me;
  const cage_str parts[] = {CAGE_LIT("xcu250"), CAGE_LIT("xcu280")};
  const cage_attr of_parts = {
      .name = CAGE_LIT("parts"), .type = CAGE_ATTR_LIST | CAGE_ATTR_STRING, .count = LENGTH(parts), .v.strs = parts};
  const cage_catalogue_entry good = {.struct_size = sizeof good,
                                     .kind = CAGE_LIT("bitstream"),
                                     .name = CAGE_LIT("aes core"),
                                     .detail = CAGE_LIT("AES\nat 300 MHz"),
                                     .attrs = &of_parts,
                                     .attr_count = 1};
  out->entry(out, &good);
  list_entry(out, CAGE_CATALOGUE_REFUSED, "bitstream", "old");
  for (int i = 0; behaves("catalogue=flood") && i < 6000; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    list_entry(out, 0, "bitstream", name);
  }
  self.kept_catalogue = out;
  return behave_in(call, "catalogue");
}

static const void* extension(const char* id) {
  static const cage_metrics metrics = {.struct_size = sizeof metrics,
                                       .metric_count = LENGTH(metrics_list),
                                       .metrics = metrics_list,
                                       .collect = collect_metrics};
  static const cage_labels labels = {.struct_size = sizeof labels, .collect = collect_labels};
  if (strcmp(id, CAGE_EXT_METRICS) == 0) return &metrics;
  static const cage_catalogue catalogue = {.struct_size = sizeof catalogue, .collect = collect_catalogue};
  if (strcmp(id, CAGE_EXT_LABELS) == 0) return &labels;
  if (strcmp(id, CAGE_EXT_CATALOGUE) == 0) return &catalogue;
  static const cage_preferred preferred = {.struct_size = sizeof preferred, .choose = choose};
  static const cage_pre_start before_start = {.struct_size = sizeof before_start, .pre_start = pre_start};
  static const cage_configure reconfigure = {.struct_size = sizeof reconfigure, .configure = configure};
  static const cage_reset of_device = {.struct_size = sizeof of_device, .reset = reset};
  if (strcmp(id, CAGE_EXT_RESET) == 0) return &of_device;
  static const cage_reconcile reconcile = {.struct_size = sizeof reconcile, .keep = keep};
  if (strcmp(id, CAGE_EXT_PREFERRED) == 0) return &preferred;
  if (strcmp(id, CAGE_EXT_PRE_START) == 0) return &before_start;
  if (strcmp(id, CAGE_EXT_CONFIGURE) == 0) return &reconfigure;
  return strcmp(id, CAGE_EXT_RECONCILE) == 0 ? &reconcile : NULL;
}

static const cage_option behave_option = {.struct_size = sizeof(cage_option),
                                          .type = CAGE_OPTION_LIST,
                                          .flags = CAGE_OPTION_LIVE,
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
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
