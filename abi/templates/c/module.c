/* SPDX-License-Identifier: Apache-2.0 */
/* @NAME@: a module for Cardcage. Each file "card*" in the folder `device_dir` is a card; its first line is "ok" or says
 * what is wrong with the card. "Replace" marks what a real module asks its driver instead. */
#include <cardcage/module.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 256 };

struct cage_instance {
  const cage_host* host;
  char device_dir[PATH_MAX];
};

static cage_str text(const char* s) {
  cage_str str;
  str.data = s;
  str.size = strlen(s);
  return str;
}

/* Says why the call fails: subject, cause, remedy. */
static cage_status fail(const cage_call* call, cage_status status, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
static cage_status fail(const cage_call* call, cage_status status, const char* format, ...) {
  char why[PATH_MAX + LINE_SIZE];
  va_list values;
  va_start(values, format);
  vsnprintf(why, sizeof why, format, values);
  va_end(values);
  call->explain(call, text(why));
  return status;
}

/* Replace: reads the first line of the card's file. Returns 0 if the card is gone. */
static int read_card(const cage_instance* self, const char* id, char line[LINE_SIZE]) {
  char path[PATH_MAX + LINE_SIZE];
  FILE* file;
  snprintf(path, sizeof path, "%s/%s", self->device_dir, id);
  file = fopen(path, "re"); /* e: no other program inherits the descriptor */
  if (file == NULL) return 0;
  if (fgets(line, LINE_SIZE, file) == NULL) line[0] = '\0';
  fclose(file);
  line[strcspn(line, "\n")] = '\0';
  return 1;
}

static cage_health health_of(const char* id, const char* line) {
  cage_health health = {.struct_size = sizeof health};
  health.device_id = text(id);
  health.cause = text("Fault");
  health.state = CAGE_HEALTH_OK;
  if (strcmp(line, "ok") != 0) {
    health.state = CAGE_HEALTH_BAD;
    health.reason = text("CardFault");
    health.message = text(line);
  }
  return health;
}

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* options,
                          cage_instance** out) {
  const cage_str folder = options->string(options, "device_dir");
  cage_instance* self = calloc(1, sizeof *self);
  if (self == NULL) return fail(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
  if (folder.size >= sizeof self->device_dir) {
    free(self);
    return fail(call, CAGE_INVALID_ARGUMENT, "option 'device_dir' is longer than a path may be");
  }
  self->host = host;
  memcpy(self->device_dir, folder.data, folder.size);
  *out = self;
  return CAGE_OK;
}

static void destroy(cage_instance* self) { free(self); }

/* Reports every card, each time. The id of a real card is its UUID, serial number or bus address. */
static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  const struct dirent* entry;
  DIR* folder = opendir(self->device_dir);
  if (folder == NULL) {
    return fail(call, CAGE_UNAVAILABLE, "cannot read option 'device_dir', '%s': %s", self->device_dir, strerror(errno));
  }
  while ((entry = readdir(folder)) != NULL) {
    cage_attr model = {CAGE_LIT("model"), CAGE_ATTR_STRING, 1, {0}};
    cage_device card = {.struct_size = sizeof card};
    cage_health health;
    char line[LINE_SIZE];
    if (strncmp(entry->d_name, "card", 4) != 0 || !read_card(self, entry->d_name, line)) continue;
    health = health_of(entry->d_name, line);
    model.v.s = text("@NAME@ 1");
    card.id = text(entry->d_name);
    card.kind = text("card");
    card.attrs = &model;
    card.attr_count = 1;
    card.health = &health;
    out->device(out, &card); /* copied; if the host refuses the card, it logs why */
  }
  closedir(folder);
  return CAGE_OK;
}

/* Replace: the node of a real card has a path of its own; /dev/null stands in for it. What prepare() changes on the
 * card and unprepare() must undo, save it with out->state(): memory does not survive a restart. */
static cage_status prepare(cage_instance* self, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  uint32_t i;
  for (i = 0; i < claim->alloc_count; ++i) {
    const cage_alloc* card = claim->allocs[i];
    cage_device_node node = {.struct_size = sizeof node};
    cage_status status;
    char line[LINE_SIZE], path[LINE_SIZE + 64];
    if (!read_card(self, card->device_id.data, line)) {
      return fail(call, CAGE_NOT_FOUND, "card '%s' is gone; is it powered?", card->device_id.data);
    }
    snprintf(path, sizeof path, "/dev/@NAME@/%s", card->device_id.data);
    node.path = text(path);
    node.host_path = text("/dev/null");
    node.major = node.minor = node.uid = node.gid = -1;
    status = out->device_node(out, (int32_t)i, &node);
    if (status != CAGE_OK) return status; /* refused and explained by the host */
    status = out->env(out, (int32_t)i, text("CARD_MODE"), card->values->string(card->values, "mode"));
    if (status != CAGE_OK) return status;
  }
  return CAGE_OK;
}

/* Succeeds for claims that were never prepared and for cards that are gone, too. */
static cage_status unprepare(cage_instance* self, const cage_call* call, const cage_claim* claim) {
  (void)self, (void)call, (void)claim;
  return CAGE_OK; /* nothing of a claim stays on the card */
}

/* The host calls it for each card every 30 s. */
static cage_status check(cage_instance* self, const cage_call* call, cage_str device_id) {
  char line[LINE_SIZE];
  cage_health health;
  (void)call;
  if (!read_card(self, device_id.data, line)) {
    self->host->rescan(self->host); /* discover() leaves the card out */
    return CAGE_OK;
  }
  health = health_of(device_id.data, line);
  self->host->health(self->host, &health);
  return CAGE_OK;
}

const cage_module* cage_module_v1(uint32_t host_minor) {
  static const cage_option device_dir = {.struct_size = sizeof device_dir,
                                         .type = CAGE_OPTION_STRING,
                                         .name = CAGE_LIT("device_dir"),
                                         .default_text = CAGE_LIT("/run/@NAME@"),
                                         .help = CAGE_LIT("a folder with a file for each card")};
  static const cage_str modes[] = {CAGE_LIT("fast"), CAGE_LIT("quiet")};
  static const cage_option mode = {.struct_size = sizeof mode,
                                   .type = CAGE_OPTION_STRING,
                                   .name = CAGE_LIT("mode"),
                                   .default_text = CAGE_LIT("fast"),
                                   .help = CAGE_LIT("how the fans run"),
                                   .choices = modes,
                                   .choice_count = 2};
  static const cage_option* const options[] = {&device_dir};
  static const cage_option* const fields[] = {&mode};
  static const cage_params_schema schema = {.struct_size = sizeof schema,
                                            .field_count = 1,
                                            .api_version = CAGE_LIT("@NAME@.example.com/v1"),
                                            .kind = CAGE_LIT("CardConfig"),
                                            .fields = fields};
  static const cage_params_schema* const schemas[] = {&schema};
  static const cage_cause fault = {
      .struct_size = sizeof fault, .name = CAGE_LIT("Fault"), .help = CAGE_LIT("what the card says of itself")};
  static const cage_cause* const causes[] = {&fault};
  static const cage_module table = {.magic = CAGE_MAGIC,
                                    .struct_size = sizeof table,
                                    .abi_minor = CAGE_ABI_MINOR,
                                    .id = CAGE_LIT("com.example.@NAME@"),
                                    .version = CAGE_LIT("1.0.0"),
                                    .vendor = CAGE_LIT("Example"),
                                    .options = options,
                                    .option_count = 1,
                                    .schemas = schemas,
                                    .schema_count = 1,
                                    .create = create,
                                    .discover = discover,
                                    .prepare = prepare,
                                    .unprepare = unprepare,
                                    .check = check,
                                    .destroy = destroy,
                                    .causes = causes,
                                    .cause_count = 1};
  (void)host_minor;
  return &table;
}
