/* A module of a later minor (header.py), for which today's host is a host from the past: its structs are larger, it
 * offers a family that the host does not know, and it keeps to what the host can. `misuse` passes what only a later
 * host knows; NEEDS, FLAGS and HOST make files that the host refuses. */
#include <string.h>

#include "cardcage/module.h"

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

typedef struct future_module {
  const cage_host* host;
  char misuse[16];
} future_module;
static future_module self_;

static future_module* of(cage_instance* self) { return (future_module*)(void*)self; }
static int misuses(cage_instance* self, const char* what) { return strcmp(of(self)->misuse, what) == 0; }
static cage_str text(const char* data) {
  cage_str result = {data, strlen(data)};
  return result;
}
static cage_status refuse(const cage_call* call, const char* why) {
  call->explain(call, text(why));
  return CAGE_INTERNAL;
}

static const cage_str misuse_choices[] = {CAGE_LIT("none"), CAGE_LIT("flag"), CAGE_LIT("state"), CAGE_LIT("type")};
static const cage_option misuse = {.struct_size = sizeof(cage_option),
                                   .type = CAGE_OPTION_STRING,
                                   .choice_count = COUNT(misuse_choices),
                                   .name = CAGE_LIT("misuse"),
                                   .default_text = CAGE_LIT("none"),
                                   .help = CAGE_LIT("what only a later host knows"),
                                   .choices = misuse_choices,
                                   .future = 1};
static const cage_option* const options[] = {&misuse};
static const cage_option mode = {.struct_size = sizeof(cage_option),
                                 .type = CAGE_OPTION_STRING,
                                 .name = CAGE_LIT("mode"),
                                 .default_text = CAGE_LIT("fast"),
                                 .help = CAGE_LIT("a mode"),
                                 .future = 1};
static const cage_option* const fields[] = {&mode};
static const cage_params_schema schema = {.struct_size = sizeof(cage_params_schema),
                                          .field_count = COUNT(fields),
                                          .api_version = CAGE_LIT("future.example.com/v1"),
                                          .kind = CAGE_LIT("CardConfig"),
                                          .fields = fields,
                                          .future = 1};
static const cage_params_schema* const schemas[] = {&schema};
static const cage_cause heat = {.struct_size = sizeof(cage_cause),
                                .name = CAGE_LIT("Heat"),
                                .help = CAGE_LIT("it is hot"),
                                .unit = CAGE_LIT("Cel"),
                                .future = 1};
static const cage_cause* const causes[] = {&heat};

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* values,
                          cage_instance** out) {
  cage_str what = values->string(values, "misuse");
  if (CAGE_HAS(host, future) || CAGE_HAS(call, future) || CAGE_HAS(values, future))
    return refuse(call, "the host says that it knows members of a later version");
  if (host->abi_minor >= 7 || host->extension(host, CAGE_EXT_FUTURE) != NULL)
    return refuse(call, "the host says that it is a later one");
  self_.host = host;
  memcpy(self_.misuse, what.data, what.size + 1);
  *out = (cage_instance*)(void*)&self_;
  return CAGE_OK;
}

static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  const cage_attr model = {CAGE_LIT("model"), CAGE_ATTR_STRING, 1, {0}};
  cage_attr attrs[1];
  cage_health hot = {.struct_size = sizeof(cage_health),
                     .state = CAGE_HEALTH_DEGRADED,
                     .reason = CAGE_LIT("Hot"),
                     .cause = CAGE_LIT("Heat"),
                     .value = 93.5,
                     .has_value = 1,
                     .future = 1};
  cage_device card = {.struct_size = sizeof(cage_device),
                      .id = CAGE_LIT("card-0"),
                      .kind = CAGE_LIT("card"),
                      .attrs = attrs,
                      .attr_count = COUNT(attrs),
                      .health = &hot,
                      .future = 1};
  cage_device other = {.struct_size = sizeof(cage_device), .id = CAGE_LIT("card-1"), .kind = CAGE_LIT("card")};
  (void)call;
  attrs[0] = model;
  attrs[0].v.s = text("X9");
  if (CAGE_HAS(out, future) || out->extension(out, CAGE_EXT_FUTURE) != NULL) return CAGE_INTERNAL;
  if (misuses(self, "flag")) card.flags = CAGE_FUTURE_FLAG;
  if (misuses(self, "state")) hot.state = CAGE_FUTURE_VALUE;
  if (misuses(self, "type")) attrs[0].type = CAGE_FUTURE_VALUE;
  out->device(out, &card); /* not OK: left out and logged */
  return out->device(out, &other);
}

static cage_status prepare(cage_instance* self, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  const cage_alloc* alloc = claim->allocs[0];
  const cage_edits_journal* journal = out->extension(out, CAGE_EDITS_JOURNAL);
  const cage_device_node node = {.struct_size = sizeof(cage_device_node),
                                 .path = CAGE_LIT("/dev/card-0"),
                                 .host_path = CAGE_LIT("/dev/null"),
                                 .major = -1,
                                 .minor = -1,
                                 .uid = -1,
                                 .gid = -1,
                                 .future = 1};
  cage_status status = CAGE_OK;
  (void)self;
  if (CAGE_HAS(claim, future) || CAGE_HAS(alloc, future) || CAGE_HAS(out, future) || CAGE_HAS(journal, future))
    return refuse(call, "the host says that it knows members of a later version");
  status = journal->write(out, (cage_bytes){"begun", 5});
  if (status == CAGE_OK) status = out->device_node(out, 0, &node);
  if (status == CAGE_OK) status = out->env(out, 0, text("MODE"), alloc->values->string(alloc->values, "mode"));
  return status;
}

static cage_status unprepare(cage_instance* self, const cage_call* call, const cage_claim* claim) {
  (void)self, (void)call;
  return claim->journal.size == 5 ? CAGE_OK : (cage_status)CAGE_FUTURE_VALUE;
}

static cage_status check(cage_instance* self, const cage_call* call, cage_str device) {
  const cage_health first = {.struct_size = sizeof(cage_health),
                             .state = CAGE_FUTURE_VALUE,
                             .device_id = device,
                             .reason = CAGE_LIT("Unheard"),
                             .cause = CAGE_LIT("Heat")};
  const cage_health second = {.struct_size = sizeof(cage_health),
                              .state = CAGE_HEALTH_OK,
                              .device_id = device,
                              .cause = CAGE_LIT("Heat"),
                              .future = 1};
  (void)call;
  of(self)->host->health(of(self)->host, &first); /* ignored and logged */
  of(self)->host->health(of(self)->host, &second);
  return CAGE_OK;
}

static void destroy(cage_instance* self) { (void)self; }

static cage_status foresee(cage_instance* self, const cage_call* call) {
  (void)self, (void)call;
  return CAGE_OK;
}
static cage_status collect(cage_instance* self, const cage_call* call, cage_label_sink* out) {
  (void)self, (void)call;
  if (CAGE_HAS(out, future)) return CAGE_INTERNAL;
  return out->label(out, text("future.example.com/driver"), text("9"));
}
static const cage_future future_family = {sizeof(cage_future), 0, foresee};
static const cage_labels labels_family = {sizeof(cage_labels), 0, collect, 1};
static const void* extension(const char* id) {
  if (strcmp(id, CAGE_EXT_FUTURE) == 0) return &future_family;
  return strcmp(id, CAGE_EXT_LABELS) == 0 ? &labels_family : NULL;
}

#ifdef NEEDS
static const cage_str needs[] = {CAGE_LIT(CAGE_EXT_LABELS), CAGE_LIT(CAGE_EXT_FUTURE)};
#endif
static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
#ifdef HOST
                                  .min_host_minor = 7,
#endif
#ifdef FLAGS
                                  .flags = CAGE_FUTURE_FLAG,
#endif
                                  .id = CAGE_LIT("future.card"),
                                  .version = CAGE_LIT("9.0.0"),
                                  .vendor = CAGE_LIT("Cardcage"),
                                  .options = options,
                                  .schemas = schemas,
                                  .causes = causes,
#ifdef NEEDS
                                  .needs = needs,
                                  .need_count = COUNT(needs),
#endif
                                  .option_count = COUNT(options),
                                  .schema_count = COUNT(schemas),
                                  .cause_count = COUNT(causes),
                                  .create = create,
                                  .discover = discover,
                                  .prepare = prepare,
                                  .unprepare = unprepare,
                                  .check = check,
                                  .destroy = destroy,
                                  .extension = extension,
                                  .future = 1};
const cage_module* cage_module_v1(uint32_t host_minor) {
  (void)host_minor;
  return &table;
}
