#include "settings.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"

#define OPTION(...) \
  &(const cage_option) { .struct_size = sizeof(cage_option), __VA_ARGS__ }
/* NOLINTBEGIN(bugprone-macro-parentheses): the parameters are parts of an initializer */
#define NAMED(text, type_, default_, help_) \
  .name = CAGE_LIT(text), .type = CAGE_OPTION_##type_, .default_text = CAGE_LIT(default_), .help = CAGE_LIT(help_)
/* NOLINTEND(bugprone-macro-parentheses) */

static const cage_str calls[] = {CAGE_LIT("none"),    CAGE_LIT("create"),    CAGE_LIT("start"),  CAGE_LIT("discover"),
                                 CAGE_LIT("prepare"), CAGE_LIT("unprepare"), CAGE_LIT("choose"), CAGE_LIT("pre_start"),
                                 CAGE_LIT("check"),   CAGE_LIT("quiesce"),   CAGE_LIT("resume"), CAGE_LIT("stop")};
#define ONE_OF(list) .choices = (list), .choice_count = sizeof(list) / sizeof *(list)

const cage_option* const mock_options[MOCK_OPTION_COUNT] = {
    OPTION(NAMED("devices", LIST, "[\"gpu:4\", \"fpga:2\", \"nic:2\"]", "kinds of devices and the number of each"),
           .min = 0, .max = MAX_KINDS),
    OPTION(NAMED("gpu_model", STRING, "Mock G100", "attribute model of gpus"), .max = 63),
    OPTION(NAMED("gpu_memory_gib", INT, "32", "capacity memory of a gpu, GiB"), .min = 1, .max = 65536),
    OPTION(NAMED("fpga_model", STRING, "Mock F10", "attribute model of fpgas"), .max = 63),
    OPTION(NAMED("nic_model", STRING, "Mock N400", "attribute model of nics"), .max = 63),
    OPTION(NAMED("nic_speed_gbps", INT, "400", "attribute linkSpeed of nics, Gbit/s"), .min = 1, .max = 65536),
    OPTION(NAMED("sockets", INT, "2", "NUMA nodes that the devices are spread over"), .min = 1, .max = MAX_SOCKETS),
    OPTION(NAMED("seed", STRING, "", "changes all uuids, so that nodes differ"), .max = 63),
    OPTION(NAMED("partitions", INT, "0", "partitions offered beside each whole gpu"), .min = 0, .max = MAX_PARTITIONS),
    OPTION(NAMED("shared", BOOL, "false", "several claims may hold one device")),
    OPTION(NAMED("device_node", STRING, "/dev/null", "host device node that containers see as /dev/mock/<id>"),
           .min = 1, .max = 255),
    OPTION(NAMED("mount_dir", STRING, "", "host folder for a file per prepared device; empty = none"), .max = 200),
    OPTION(NAMED("discover_delay", DURATION, "0s", "how long discover takes")),
    OPTION(NAMED("prepare_delay", DURATION, "0s", "how long prepare takes")),
    OPTION(NAMED("unprepare_delay", DURATION, "0s", "how long unprepare takes")),
    OPTION(NAMED("hang", STRING, "none", "this call never returns, not even when cancelled"), ONE_OF(calls)),
    OPTION(NAMED("crash", STRING, "none", "this call aborts the process"), ONE_OF(calls)),
    OPTION(NAMED("fail_create", STRING, "", "create fails with this text"), .max = 255),
    OPTION(NAMED("fail_discover", STRING, "", "discover fails with this text"), .max = 255),
    OPTION(NAMED("fail_prepare", LIST, "[]", "prepare of these devices fails: \"gpu-1 why\"; * = every device")),
    OPTION(NAMED("fail_unprepare", LIST, "[]", "unprepare of these devices fails: \"gpu-1 why\"; * = every device")),
    OPTION(NAMED("script", LIST, "[]", "events after the start: \"2s health gpu-1 bad XidError text\"")),
    OPTION(NAMED("script_file", STRING, "", "file with lines as in script, read again when it grows"), .max = 255),
};

static const cage_str sharing[] = {CAGE_LIT("exclusive"), CAGE_LIT("timeSlicing"), CAGE_LIT("spatial")};
const cage_option* const mock_params[MOCK_PARAM_COUNT] = {
    OPTION(NAMED("sharing", STRING, "exclusive", "how the containers of a claim share a device"), ONE_OF(sharing)),
    OPTION(NAMED("intervalMs", INT, "10", "length of a time slice"), .min = 1, .max = 10000),
    OPTION(NAMED("env", LIST, "[]", "additional variables: \"KEY=value\""), .max = 64),
};

static bool is_kind(const char* kind) {
  size_t size = strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789");
  return size > 0 && kind[size] == '\0' && kind[0] >= 'a';
}

/* "gpu:8" or "gpu" */
static cage_status read_group(const cage_call* call, cage_str text, struct hardware* hardware) {
  const char* colon = text.size > 0 ? memchr(text.data, ':', text.size) : NULL;
  cage_str kind = {text.data, colon != NULL ? (size_t)(colon - text.data) : text.size};
  struct device_group group = {.count = 1};
  bool good = text_copy(group.kind, sizeof group.kind, kind) && is_kind(group.kind);
  if (colon != NULL) {
    cage_str count = {colon + 1, text.size - kind.size - 1};
    good = good && text_number(count, MAX_DEVICES, &group.count);
  }
  if (!good) {
    return refuse(call, CAGE_INVALID_ARGUMENT,
                  "option 'devices': '%.*s' is not a kind and a number up to %d; write \"gpu:8\"",
                  (int)(text.size < 64 ? text.size : 64), text.data, MAX_DEVICES);
  }
  for (uint32_t i = 0; i < hardware->group_count; ++i) {
    if (strcmp(hardware->groups[i].kind, group.kind) == 0) {
      return refuse(call, CAGE_INVALID_ARGUMENT, "option 'devices': kind '%s' is there twice", group.kind);
    }
  }
  if (hardware->group_count == MAX_KINDS) {
    return refuse(call, CAGE_INVALID_ARGUMENT, "option 'devices': more than %d kinds", MAX_KINDS);
  }
  hardware->groups[hardware->group_count++] = group;
  return CAGE_OK;
}

static cage_status read_hardware(const cage_call* call, const cage_values* options, struct hardware* hardware) {
  const cage_str* items = NULL;
  uint32_t count = options->list(options, "devices", &items);
  for (uint32_t i = 0; i < count; ++i) {
    cage_status status = read_group(call, items[i], hardware);
    if (status != CAGE_OK) return status;
  }
  text_copy(hardware->gpu_model, sizeof hardware->gpu_model, options->string(options, "gpu_model"));
  text_copy(hardware->fpga_model, sizeof hardware->fpga_model, options->string(options, "fpga_model"));
  text_copy(hardware->nic_model, sizeof hardware->nic_model, options->string(options, "nic_model"));
  text_copy(hardware->seed, sizeof hardware->seed, options->string(options, "seed"));
  hardware->gpu_memory_gib = (uint32_t)options->integer(options, "gpu_memory_gib");
  hardware->nic_speed_gbps = (uint32_t)options->integer(options, "nic_speed_gbps");
  hardware->sockets = (uint32_t)options->integer(options, "sockets");
  hardware->partitions = (uint32_t)options->integer(options, "partitions");
  hardware->shared = options->boolean(options, "shared") != 0;
  return CAGE_OK;
}

static cage_status read_refusals(const cage_call* call, const cage_values* options, const char* name,
                                 struct faults* faults, enum call_kind kind) {
  const cage_str* items = NULL;
  uint32_t count = options->list(options, name, &items);
  for (uint32_t i = 0; i < count; ++i) {
    if (!faults_refuse(faults, kind, items[i])) {
      return refuse(call, CAGE_INVALID_ARGUMENT, "option '%s': '%.*s' does not start with a device id or *", name,
                    (int)(items[i].size < 64 ? items[i].size : 64), items[i].data);
    }
  }
  return CAGE_OK;
}

static void read_failure(const cage_values* options, const char* name, struct faults* faults, enum call_kind kind) {
  cage_str text = options->string(options, name);
  char rule[260] = "* ";
  if (text.size > 0 && text_copy(rule + 2, sizeof rule - 2, text)) faults_refuse(faults, kind, text_of(rule));
}

static cage_status read_faults(const cage_call* call, const cage_values* options, struct faults* faults) {
  faults_delay(faults, CALL_DISCOVER, (uint64_t)options->integer(options, "discover_delay"));
  faults_delay(faults, CALL_PREPARE, (uint64_t)options->integer(options, "prepare_delay"));
  faults_delay(faults, CALL_UNPREPARE, (uint64_t)options->integer(options, "unprepare_delay"));
  enum call_kind hang = call_kind_of(options->string(options, "hang"));
  if (hang != CALL_KIND_COUNT) faults_hang(faults, hang);
  enum call_kind crash = call_kind_of(options->string(options, "crash"));
  if (crash != CALL_KIND_COUNT) faults_crash(faults, crash);
  read_failure(options, "fail_create", faults, CALL_CREATE);
  read_failure(options, "fail_discover", faults, CALL_DISCOVER);
  cage_status status = read_refusals(call, options, "fail_prepare", faults, CALL_PREPARE);
  if (status != CAGE_OK) return status;
  return read_refusals(call, options, "fail_unprepare", faults, CALL_UNPREPARE);
}

cage_status settings_read(const cage_call* call, const cage_values* options, struct settings* settings,
                          struct devices* devices, struct faults* faults) {
  cage_status status = read_hardware(call, options, &settings->hardware);
  if (status != CAGE_OK) return status;
  text_copy(settings->device_node, sizeof settings->device_node, options->string(options, "device_node"));
  text_copy(settings->mount_dir, sizeof settings->mount_dir, options->string(options, "mount_dir"));
  text_copy(settings->script_file, sizeof settings->script_file, options->string(options, "script_file"));
  status = read_faults(call, options, faults);
  if (status != CAGE_OK) return status;
  return devices_make(devices, &settings->hardware, call);
}
