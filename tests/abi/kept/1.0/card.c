/* A module in C with every function of cage_module 1.0 and the first families. card.cc is the same module in C++. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cardcage/module.h"

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof *(list)))
#define STATE_VERSION 2u

typedef struct card_module {
  const cage_host* host;
  int cards, quiesced;
  char model[32];
} card_module;

static card_module* of(cage_instance* self) { return (card_module*)(void*)self; }

static cage_str text(const char* data) {
  cage_str result = {data, strlen(data)};
  return result;
}
static int equal(cage_str a, cage_str b) { return a.size == b.size && memcmp(a.data, b.data, a.size) == 0; }

static cage_status refuse(const cage_call* call, cage_status status, const char* why) {
  call->explain(call, text(why));
  return status;
}

static const cage_str models[] = {CAGE_LIT("X1"), CAGE_LIT("X2")};
static const cage_option option_cards = {.struct_size = sizeof(cage_option),
                                         .type = CAGE_OPTION_INT,
                                         .name = CAGE_LIT("cards"),
                                         .default_text = CAGE_LIT("2"),
                                         .help = CAGE_LIT("how many cards"),
                                         .min = 1,
                                         .max = 8};
static const cage_option option_model = {.struct_size = sizeof(cage_option),
                                         .type = CAGE_OPTION_STRING,
                                         .name = CAGE_LIT("model"),
                                         .default_text = CAGE_LIT("X1"),
                                         .help = CAGE_LIT("their model"),
                                         .choices = models,
                                         .choice_count = COUNT(models)};
static const cage_option option_tags = {.struct_size = sizeof(cage_option),
                                        .type = CAGE_OPTION_LIST,
                                        .name = CAGE_LIT("tags"),
                                        .help = CAGE_LIT("must be two, if any")};
static const cage_option option_pause = {.struct_size = sizeof(cage_option),
                                         .type = CAGE_OPTION_DURATION,
                                         .name = CAGE_LIT("pause"),
                                         .default_text = CAGE_LIT("250ms"),
                                         .help = CAGE_LIT("must be a quarter of a second")};
static const cage_option option_strict = {.struct_size = sizeof(cage_option),
                                          .type = CAGE_OPTION_BOOL,
                                          .name = CAGE_LIT("strict"),
                                          .default_text = CAGE_LIT("true"),
                                          .help = CAGE_LIT("must be true")};
static const cage_option* const options[] = {&option_cards, &option_model, &option_tags, &option_pause, &option_strict};
static const cage_option param_mode = {.struct_size = sizeof(cage_option),
                                       .type = CAGE_OPTION_STRING,
                                       .name = CAGE_LIT("mode"),
                                       .default_text = CAGE_LIT("fast"),
                                       .help = CAGE_LIT("a mode")};
static const cage_option* const fields[] = {&param_mode};
static const cage_params_schema schema = {.struct_size = sizeof(cage_params_schema),
                                          .field_count = COUNT(fields),
                                          .api_version = CAGE_LIT("kept.cardcage.dev/v1"),
                                          .kind = CAGE_LIT("CardConfig"),
                                          .fields = fields};
static const cage_params_schema* const schemas[] = {&schema};
static const cage_str needs[] = {CAGE_LIT(CAGE_SNAPSHOT_COUNTERS), CAGE_LIT(CAGE_EXT_RECONCILE)};

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* values,
                          cage_instance** out) {
  const cage_str* tags = NULL;
  const uint32_t tag_count = values->list(values, "tags", &tags);
  if (tag_count != 0 && tag_count != 2) return refuse(call, CAGE_INVALID_ARGUMENT, "option 'tags' needs two");
  if (values->integer(values, "pause") != 250 * 1000 * 1000 || !values->boolean(values, "strict"))
    return refuse(call, CAGE_INVALID_ARGUMENT, "the defaults of 'pause' and 'strict' are lost");
  card_module* self = calloc(1, sizeof *self);
  if (self == NULL) return refuse(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
  self->host = host;
  self->cards = (int)values->integer(values, "cards");
  const cage_str model = values->string(values, "model");
  memcpy(self->model, model.data, model.size);
  *out = (cage_instance*)(void*)self;
  return CAGE_OK;
}

static cage_status start(cage_instance* self, const cage_call* call) {
  (void)call;
  if (of(self)->host->log_enabled(of(self)->host, CAGE_LOG_INFO))
    of(self)->host->log(of(self)->host, CAGE_LOG_INFO, text("started"));
  return CAGE_OK;
}

static cage_status report_card(const card_module* self, int index, cage_snapshot* out) {
  static const int64_t lanes[] = {4, 8};
  static const int32_t node = 1;
  char id[16];
  snprintf(id, sizeof id, "card-%d", index);
  const cage_attr attrs[] = {{CAGE_LIT("model"), CAGE_ATTR_STRING, 1, {.s = text(self->model)}},
                             {CAGE_LIT("cores"), CAGE_ATTR_INT, 1, {.i = 64}},
                             {CAGE_LIT("ecc"), CAGE_ATTR_BOOL, 1, {.i = 1}},
                             {CAGE_LIT("driver"), CAGE_ATTR_VERSION, 1, {.s = CAGE_LIT("1.2.3")}},
                             {CAGE_LIT("lanes"), CAGE_ATTR_LIST | CAGE_ATTR_INT, 2, {.ints = lanes}}};
  const cage_quantity memory = {CAGE_LIT("memory"), (int64_t)2 << 30, 0, CAGE_QTY_BINARY};
  const cage_health hot = {.struct_size = sizeof(cage_health),
                           .state = CAGE_HEALTH_BAD,
                           .reason = CAGE_LIT("TooHot"),
                           .message = CAGE_LIT("93 degrees"),
                           .timeout_s = 30,
                           .taint = CAGE_TAINT_NO_SCHEDULE};
  const cage_device device = {.struct_size = sizeof(cage_device),
                              .id = text(id),
                              .kind = CAGE_LIT("card"),
                              .pci_bus_id = CAGE_LIT("0000:3b:00.0"),
                              .numa_nodes = &node,
                              .numa_count = 1,
                              .attrs = attrs,
                              .attr_count = COUNT(attrs),
                              .capacity = &memory,
                              .capacity_count = 1,
                              .health = index == 1 ? &hot : NULL};
  return out->device(out, &device);
}

static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  for (int i = 0; i < of(self)->cards; ++i)
    if (report_card(of(self), i, out) != CAGE_OK) return refuse(call, CAGE_INTERNAL, "a card is left out");
  const cage_device part = {.struct_size = sizeof(cage_device),
                            .flags = CAGE_DEVICE_SHARED,
                            .id = CAGE_LIT("part-0"),
                            .kind = CAGE_LIT("part"),
                            .parent_id = CAGE_LIT("card-0")};
  const cage_snapshot_counters* counters = out->extension(out, CAGE_SNAPSHOT_COUNTERS);
  const cage_quantity slots = {CAGE_LIT("slots"), 4, 0, CAGE_QTY_DECIMAL},
                      slot = {CAGE_LIT("slots"), 1, 0, CAGE_QTY_DECIMAL};
  if (counters == NULL || out->device(out, &part) != CAGE_OK ||
      counters->set(out, text("card-0"), &slots, 1) != CAGE_OK ||
      counters->consumes(out, text("card-0"), text("card-0"), &slots, 1) != CAGE_OK ||
      counters->consumes(out, text("part-0"), text("card-0"), &slot, 1) != CAGE_OK)
    return refuse(call, CAGE_INTERNAL, "the partition is left out");
  return CAGE_OK;
}

static cage_status edit(const cage_alloc* alloc, int32_t index, cage_edits* out) {
  static const cage_str mount_options[] = {CAGE_LIT("ro"), CAGE_LIT("rbind")},
                        args[] = {CAGE_LIT("hook"), CAGE_LIT("now")};
  char path[300];
  snprintf(path, sizeof path, "/dev/%.*s", (int)alloc->device_id.size, alloc->device_id.data);
  const cage_device_node node = {.struct_size = sizeof(cage_device_node),
                                 .path = text(path),
                                 .host_path = CAGE_LIT("/dev/null"),
                                 .permissions = CAGE_LIT("rw"),
                                 .type = CAGE_LIT("c"),
                                 .major = 1,
                                 .minor = 3,
                                 .uid = -1,
                                 .gid = -1};
  const cage_mount mount = {.struct_size = sizeof(cage_mount),
                            .option_count = COUNT(mount_options),
                            .host_path = CAGE_LIT("/etc"),
                            .container_path = CAGE_LIT("/host-etc"),
                            .options = mount_options};
  const cage_hook hook = {.struct_size = sizeof(cage_hook),
                          .timeout_s = 5,
                          .name = CAGE_LIT("createContainer"),
                          .path = CAGE_LIT("/bin/true"),
                          .args = args,
                          .arg_count = COUNT(args)};
  const cage_net_device net = {
      .struct_size = sizeof(cage_net_device), .host_interface = CAGE_LIT("eth9"), .name = CAGE_LIT("net0")};
  cage_status status = out->env(out, index, text("DEVICE"), alloc->device_id);
  if (status == CAGE_OK) status = out->env(out, index, text("REQUEST"), alloc->request);
  if (status == CAGE_OK) status = out->env(out, index, text("MODE"), alloc->values->string(alloc->values, "mode"));
  if (status == CAGE_OK) status = out->device_node(out, index, &node);
  if (status == CAGE_OK) status = out->mount(out, index, &mount);
  if (status == CAGE_OK) status = out->hook(out, index, &hook);
  if (status == CAGE_OK) status = out->net_device(out, index, &net);
  return status == CAGE_OK ? out->group(out, index, 44) : status;
}

static cage_status prepare(cage_instance* self, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  if (of(self)->quiesced) return refuse(call, CAGE_UNAVAILABLE, "the card is quiesced");
  if (call->cancelled(call)) return refuse(call, CAGE_CANCELLED, "cancelled");
  cage_status status = out->env(out, -1, text("CLAIM"), claim->name);
  for (uint32_t i = 0; status == CAGE_OK && i < claim->alloc_count; ++i)
    status = edit(claim->allocs[i], (int32_t)i, out);
  if (status != CAGE_OK) return status;
  const cage_bytes state = {claim->uid.data, claim->uid.size};
  return out->state(out, state);
}

static int has_state(const cage_claim* claim) {
  const cage_str state = {claim->state.data, claim->state.size};
  return claim->state_version == STATE_VERSION && equal(state, claim->uid);
}

static cage_status unprepare(cage_instance* self, const cage_call* call, const cage_claim* claim) {
  (void)self;
  return has_state(claim) ? CAGE_OK : refuse(call, CAGE_FAILED_PRECONDITION, "this is not the state that was saved");
}

static cage_status check(cage_instance* self, const cage_call* call, cage_str device) {
  const cage_health well = {.struct_size = sizeof(cage_health), .state = CAGE_HEALTH_OK, .device_id = device};
  (void)call;
  of(self)->host->health(of(self)->host, &well);
  of(self)->host->rescan(of(self)->host);
  return CAGE_OK;
}

static cage_status quiesce(cage_instance* self, const cage_call* call) {
  (void)call;
  of(self)->quiesced = 1;
  return CAGE_OK;
}
static cage_status resume(cage_instance* self, const cage_call* call) {
  (void)call;
  of(self)->quiesced = 0;
  return CAGE_OK;
}
static cage_status stop(cage_instance* self, const cage_call* call) {
  (void)self, (void)call;
  return CAGE_OK;
}
static void destroy(cage_instance* self) { free(self); }

static cage_status choose(cage_instance* self, const cage_call* call, const cage_str* available,
                          uint32_t available_count, const cage_str* required, uint32_t required_count, uint32_t want,
                          cage_id_sink* out) {
  (void)self, (void)call, (void)required, (void)required_count;
  cage_status status = CAGE_OK;
  for (uint32_t i = 0; status == CAGE_OK && i < want; ++i) status = out->id(out, available[available_count - 1 - i]);
  return status;
}
static cage_status pre_start(cage_instance* self, const cage_call* call, const cage_claim* claim) {
  return unprepare(self, call, claim);
}
static cage_status keep(cage_instance* self, const cage_call* call, const cage_claim* const* live,
                        uint32_t live_count) {
  for (uint32_t i = 0; i < live_count; ++i)
    if (unprepare(self, call, live[i]) != CAGE_OK) return CAGE_FAILED_PRECONDITION;
  return CAGE_OK;
}

static const cage_preferred preferred = {sizeof(cage_preferred), 0, choose};
static const cage_pre_start before_start = {sizeof(cage_pre_start), 0, pre_start};
static const cage_reconcile reconcile = {sizeof(cage_reconcile), 0, keep};
static const void* extension(const char* id) {
  if (strcmp(id, CAGE_EXT_PREFERRED) == 0) return &preferred;
  if (strcmp(id, CAGE_EXT_PRE_START) == 0) return &before_start;
  return strcmp(id, CAGE_EXT_RECONCILE) == 0 ? &reconcile : NULL;
}

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  .flags = CAGE_MODULE_CONCURRENT,
                                  .state_version = STATE_VERSION,
                                  .id = CAGE_LIT("kept.card"),
                                  .version = CAGE_LIT("1.0.0"),
                                  .vendor = CAGE_LIT("Cardcage"),
                                  .options = options,
                                  .option_count = COUNT(options),
                                  .schemas = schemas,
                                  .schema_count = COUNT(schemas),
                                  .needs = needs,
                                  .need_count = COUNT(needs),
                                  .create = create,
                                  .start = start,
                                  .discover = discover,
                                  .prepare = prepare,
                                  .unprepare = unprepare,
                                  .check = check,
                                  .quiesce = quiesce,
                                  .resume = resume,
                                  .stop = stop,
                                  .destroy = destroy,
                                  .extension = extension};
const cage_module* cage_module_v1(uint32_t host_minor) {
  (void)host_minor;
  return &table;
}
