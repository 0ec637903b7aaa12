/* A module in C that uses what cardcage/module.h 1.0 offers beside what card.c uses. node.cc is the same module in C++.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cardcage/module.h"

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

typedef struct card_module {
  const cage_host* host;
  int64_t level;
  char program[64], reset_file[256];
  int quiesced;
} card_module;

static card_module* of(cage_instance* self) { return (card_module*)(void*)self; }

static cage_str text(const char* data) {
  cage_str result = {data, strlen(data)};
  return result;
}

static cage_status refuse(const cage_call* call, cage_status status, const char* why) {
  call->explain(call, text(why));
  return status;
}

static const cage_option option_level = {.struct_size = sizeof(cage_option),
                                         .type = CAGE_OPTION_INT,
                                         .flags = CAGE_OPTION_LIVE,
                                         .name = CAGE_LIT("level"),
                                         .default_text = CAGE_LIT("1"),
                                         .help = CAGE_LIT("may change while it runs")};
static const cage_option option_program = {
    .struct_size = sizeof(cage_option),
    .type = CAGE_OPTION_STRING,
    .name = CAGE_LIT("program"),
    .help = CAGE_LIT("prepare runs it, and keeps it as a service with an argument"),
    .max = 63};
static const cage_option option_reset = {.struct_size = sizeof(cage_option),
                                         .type = CAGE_OPTION_STRING,
                                         .name = CAGE_LIT("reset_file"),
                                         .help = CAGE_LIT("prepare writes 1 to it"),
                                         .max = 255};
static const cage_option* const options[] = {&option_level, &option_program, &option_reset};

static const cage_option field_strategy = {.struct_size = sizeof(cage_option),
                                           .type = CAGE_OPTION_STRING,
                                           .name = CAGE_LIT("sharing.strategy"),
                                           .default_text = CAGE_LIT("none"),
                                           .help = CAGE_LIT("how it is shared")};
static const cage_option field_limits = {.struct_size = sizeof(cage_option),
                                         .type = CAGE_OPTION_MAP,
                                         .name = CAGE_LIT("sharing.limits"),
                                         .help = CAGE_LIT("by process")};
static const cage_option field_clock = {.struct_size = sizeof(cage_option),
                                        .type = CAGE_OPTION_INT,
                                        .flags = CAGE_OPTION_CLASS_ONLY,
                                        .name = CAGE_LIT("clock"),
                                        .default_text = CAGE_LIT("0"),
                                        .help = CAGE_LIT("MHz")};
static const cage_option* const fields[] = {&field_strategy, &field_limits, &field_clock};
static const cage_str kinds[] = {CAGE_LIT("card")};
static const cage_params_schema schema = {.struct_size = sizeof(cage_params_schema),
                                          .field_count = COUNT(fields),
                                          .api_version = CAGE_LIT("kept.cardcage.dev/v1"),
                                          .kind = CAGE_LIT("CardConfig"),
                                          .fields = fields,
                                          .device_kinds = kinds,
                                          .device_kind_count = COUNT(kinds)};
static const cage_params_schema* const schemas[] = {&schema};

static void copy(char* to, size_t room, cage_str from) {
  snprintf(to, room, "%.*s", (int)from.size, from.size > 0 ? from.data : "");
}

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* values,
                          cage_instance** out) {
  card_module* self = calloc(1, sizeof *self);
  if (self == NULL) return refuse(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
  self->host = host;
  self->level = values->integer(values, "level");
  copy(self->program, sizeof self->program, values->string(values, "program"));
  copy(self->reset_file, sizeof self->reset_file, values->string(values, "reset_file"));
  *out = (cage_instance*)(void*)self;
  return CAGE_OK;
}

static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  (void)self, (void)call;
  const cage_health hot = {.struct_size = sizeof(cage_health),
                           .state = CAGE_HEALTH_BAD,
                           .reason = CAGE_LIT("TooHot"),
                           .message = CAGE_LIT("93 degrees"),
                           .taint = CAGE_TAINT_INFORM,
                           .cause = CAGE_LIT("Temperature"),
                           .taint_key = CAGE_LIT("kept.cardcage.dev/hot"),
                           .taint_value = CAGE_LIT("very")};
  const cage_device card = {.struct_size = sizeof(cage_device),
                            .id = CAGE_LIT("CARD-7f3a"),
                            .kind = CAGE_LIT("card"),
                            .health = &hot,
                            .name = CAGE_LIT("card-0")};
  return out->device(out, &card);
}

static void take_exit(void* user, const cage_command_result* result) { *(int*)user = result->exit_status; }

static cage_status use_the_node(card_module* self, const cage_call* call, cage_edits* out) {
  const cage_exec* exec = self->host->extension(self->host, CAGE_HOST_EXEC);
  const cage_service* service = self->host->extension(self->host, CAGE_HOST_SERVICE);
  const cage_write* write = self->host->extension(self->host, CAGE_HOST_WRITE);
  if (exec == NULL || service == NULL || write == NULL) return refuse(call, CAGE_INTERNAL, "the host lacks a family");
  static const cage_str environment[] = {CAGE_LIT("PATH=/usr/bin:/bin")}, stay[] = {CAGE_LIT("1000")},
                        leave[] = {CAGE_LIT("0")};
  cage_command command = {.struct_size = sizeof command,
                          .timeout_ms = 5000,
                          .program = text(self->program),
                          .args = leave,
                          .arg_count = 1,
                          .env = environment,
                          .env_count = 1};
  int exit_status = -1;
  cage_status status = exec->run(self->host, call, &command, &exit_status, take_exit);
  char number[16];
  snprintf(number, sizeof number, "%d", exit_status);
  if (status == CAGE_OK) status = out->env(out, -1, text("EXIT"), text(number));
  command.args = stay;
  command.timeout_ms = 0;
  if (status == CAGE_OK) status = service->start(self->host, call, text("helper"), &command);
  const cage_file_write reset = {.struct_size = sizeof reset,
                                 .timeout_ms = 5000,
                                 .device_id = CAGE_LIT("CARD-7f3a"),
                                 .path = text(self->reset_file),
                                 .data = {"1", 1}};
  return status == CAGE_OK ? write->file(self->host, call, &reset) : status;
}

static cage_status prepare(cage_instance* self, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  if (of(self)->quiesced) return refuse(call, CAGE_UNAVAILABLE, "the card is quiesced");
  const cage_edits_journal* journal = out->extension(out, CAGE_EDITS_JOURNAL);
  if (journal == NULL || journal->write(out, (cage_bytes){"begun", 5}) != CAGE_OK)
    return refuse(call, CAGE_INTERNAL, "no journal");
  call->progress(call, 40, text("writing the bitstream"));
  const cage_values* values = claim->allocs[0]->values;
  const cage_str *keys = NULL, *limits = NULL;
  char all[256] = "";
  for (uint32_t i = 0, count = values->map(values, "sharing.limits", &keys, &limits); i < count; ++i)
    snprintf(all + strlen(all), sizeof all - strlen(all), "%.*s=%.*s;", (int)keys[i].size, keys[i].data,
             (int)limits[i].size, limits[i].data);
  cage_status status = out->env(out, 0, text("LIMITS"), text(all));
  if (status == CAGE_OK) status = out->env(out, 0, text("STRATEGY"), values->string(values, "sharing.strategy"));
  if (status == CAGE_OK)
    status = out->env(out, 0, text("FROM"),
                      text(values->source(values, "sharing.strategy") == CAGE_PARAMS_CLAIM ? "claim" : "elsewhere"));
  if (status == CAGE_OK) status = out->env(out, 0, text("KIND"), values->params_kind);
  if (status == CAGE_OK) status = out->env(out, 0, text("SYSFS"), of(self)->host->sysfs);
  if (status == CAGE_OK) status = out->env_list(out, 0, text("CARDS"), claim->allocs[0]->device_id);
  if (status == CAGE_OK && of(self)->program[0] != '\0') status = use_the_node(of(self), call, out);
  return status;
}

static cage_status unprepare(cage_instance* self, const cage_call* call, const cage_claim* claim) {
  if (claim->journal.size != 5 || memcmp(claim->journal.data, "begun", 5) != 0)
    return refuse(call, CAGE_FAILED_PRECONDITION, "the journal is lost");
  const cage_service* service = of(self)->host->extension(of(self)->host, CAGE_HOST_SERVICE);
  return of(self)->program[0] == '\0' ? CAGE_OK : service->stop(of(self)->host, call, text("helper"));
}

static void destroy(cage_instance* self) { free(self); }

static cage_status configure(cage_instance* self, const cage_call* call, const cage_values* values) {
  (void)call;
  of(self)->level = values->integer(values, "level");
  return CAGE_OK;
}

static cage_status quiesce_device(cage_instance* self, const cage_call* call, cage_str device) {
  (void)call, (void)device;
  of(self)->quiesced = 1;
  return CAGE_OK;
}
static cage_status resume_device(cage_instance* self, const cage_call* call, cage_str device) {
  (void)call, (void)device;
  of(self)->quiesced = 0;
  return CAGE_OK;
}

static const cage_str places[] = {CAGE_LIT("place")};
static const cage_metric level = {
    .struct_size = sizeof(cage_metric), .type = CAGE_METRIC_GAUGE, .name = CAGE_LIT("level"), .help = CAGE_LIT("set")};
static const cage_metric errors = {.struct_size = sizeof(cage_metric),
                                   .type = CAGE_METRIC_COUNTER,
                                   .name = CAGE_LIT("errors_total"),
                                   .help = CAGE_LIT("seen"),
                                   .labels = places,
                                   .label_count = COUNT(places)};
static const cage_metric* const metrics[] = {&level, &errors};

static cage_status collect_metrics(cage_instance* self, const cage_call* call, cage_metrics_sink* out) {
  (void)call;
  const cage_str place = CAGE_LIT("dram");
  cage_status status = out->sample(out, 0, text(""), NULL, (double)of(self)->level);
  return status == CAGE_OK ? out->sample(out, 1, text("CARD-7f3a"), &place, 3.0) : status;
}

static cage_status collect_labels(cage_instance* self, const cage_call* call, cage_label_sink* out) {
  (void)self, (void)call;
  return out->label(out, text("kept.cardcage.dev/driver"), text("1.2"));
}

static const cage_str kernel_log[] = {CAGE_LIT("card: ")}, uevents[] = {CAGE_LIT("card")};
static cage_status events(cage_instance* self, const cage_call* call, const cage_event* const* list, uint32_t count,
                          uint32_t flags) {
  (void)call;
  for (uint32_t i = 0; i < count; ++i) {
    const cage_health seen = {.struct_size = sizeof(cage_health),
                              .state = (flags & CAGE_EVENTS_LOST) != 0 ? CAGE_HEALTH_UNKNOWN : CAGE_HEALTH_BAD,
                              .device_id = CAGE_LIT("CARD-7f3a"),
                              .reason = CAGE_LIT("KernelSaid"),
                              .message = list[i]->text};
    of(self)->host->health(of(self)->host, &seen);
  }
  return CAGE_OK;
}

static const cage_configure configure_family = {sizeof(cage_configure), 0, configure};
static const cage_quiesce quiesce_family = {sizeof(cage_quiesce), 0, quiesce_device, resume_device};
static const cage_metrics metrics_family = {sizeof(cage_metrics), COUNT(metrics), metrics, collect_metrics};
static const cage_labels labels_family = {sizeof(cage_labels), 0, collect_labels};
static const cage_watch watch_family = {.struct_size = sizeof(cage_watch),
                                        .kernel_log = kernel_log,
                                        .uevents = uevents,
                                        .kernel_log_count = COUNT(kernel_log),
                                        .uevent_count = COUNT(uevents),
                                        .events = events};
static const void* extension(const char* id) {
  if (strcmp(id, CAGE_EXT_CONFIGURE) == 0) return &configure_family;
  if (strcmp(id, CAGE_EXT_QUIESCE) == 0) return &quiesce_family;
  if (strcmp(id, CAGE_EXT_METRICS) == 0) return &metrics_family;
  if (strcmp(id, CAGE_EXT_LABELS) == 0) return &labels_family;
  return strcmp(id, CAGE_EXT_WATCH) == 0 ? &watch_family : NULL;
}

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  .flags = CAGE_MODULE_CONCURRENT,
                                  .id = CAGE_LIT("kept.card"),
                                  .version = CAGE_LIT("1.0.0"),
                                  .vendor = CAGE_LIT("Cardcage"),
                                  .options = options,
                                  .option_count = COUNT(options),
                                  .create = create,
                                  .discover = discover,
                                  .prepare = prepare,
                                  .unprepare = unprepare,
                                  .destroy = destroy,
                                  .extension = extension,
                                  .schemas = schemas,
                                  .schema_count = COUNT(schemas),
                                  .claim_call_limit_s = 600};
const cage_module* cage_module_v1(uint32_t host_minor) {
  (void)host_minor;
  return &table;
}
