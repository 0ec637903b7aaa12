#include "settings.h"

#include <inttypes.h>
#include <string.h>

#include "declare.h"
#include "text.h"

static const cage_str calls[] = {
    CAGE_LIT("none"),    CAGE_LIT("create"),    CAGE_LIT("start"),  CAGE_LIT("configure"), CAGE_LIT("discover"),
    CAGE_LIT("prepare"), CAGE_LIT("unprepare"), CAGE_LIT("bind"),   CAGE_LIT("choose"),    CAGE_LIT("pre_start"),
    CAGE_LIT("check"),   CAGE_LIT("metrics"),   CAGE_LIT("labels"), CAGE_LIT("catalogue"), CAGE_LIT("events"),
    CAGE_LIT("quiesce"), CAGE_LIT("resume"),    CAGE_LIT("reset"),  CAGE_LIT("stop")};
#define LIVE .flags = CAGE_OPTION_LIVE

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
    OPTION(NAMED("partitions_only", BOOL, "false", "gpus with partitions are not offered as a whole")),
    OPTION(NAMED("slots", LIST, "[]", "slots of the cards that the kernel finds, in its order; [] = all"),
           .max = MAX_SLOTS),
    OPTION(NAMED("uuid_ids", BOOL, "false", "ids are the uuids, and gpu-0 is only a name")),
    OPTION(NAMED("shared", BOOL, "false", "several claims may hold one device")),
    OPTION(NAMED("shared_capacity", LIST, "[]", "what they may consume: \"gpu memory 4Gi range 2Gi 16Gi 2Gi\""),
           .max = MAX_POLICIES),
    OPTION(NAMED("binding", LIST, "[]", "kinds of devices that are attached before a pod gets them"),
           .max = MAX_BOUND_KINDS),
    OPTION(NAMED("bind_time", DURATION, "1s", "how long it takes to attach a device"), .min = 0, .max = 3600000000000),
    OPTION(NAMED("bind_failures", LIST, "[]", "ids of devices that cannot be attached"), .max = MAX_BIND_FAILURES),
    OPTION(NAMED("binds_to_node", BOOL, "false", "claims with such devices stay on their node")),
    OPTION(NAMED("device_node", STRING, "/dev/null", "host device node that containers see as /dev/mock/<id>"),
           .min = 1, .max = 255),
    OPTION(NAMED("mount_dir", STRING, "", "host folder for a file per prepared device; empty = none"), .max = 200),
    OPTION(NAMED("env_list", BOOL, "false", "prepare adds the device to the joined variable MOCK_DEVICES")),
    OPTION(NAMED("journal", BOOL, "false", "prepare writes a journal, and unprepare wants it back")),
    OPTION(NAMED("exec", LIST, "[]", "prepare runs this program with these arguments"), .max = MAX_EXEC),
    OPTION(NAMED("exec_limit", DURATION, "0s", "how long it may run; 0s = until the deadline of prepare"), .min = 0,
           .max = 3600000000000),
    OPTION(NAMED("service", LIST, "[]", "this program is a service of each claim from prepare on"), .max = MAX_EXEC),
    OPTION(NAMED("service_stop", BOOL, "false", "unprepare stops it; the host does otherwise")),
    OPTION(NAMED("labels", LIST, "[]", "labels of the node: \"example.com/driver=1.2\""), .max = MAX_LABELS),
    OPTION(NAMED("catalogue", LIST, "[]", "what claims may name: \"bitstream aes usable AES-256 at 300 MHz\""),
           .max = MAX_LINES),
    OPTION(NAMED("statements", LIST, "[]", "what prepare states of each device: \"condition Ready true Linked\""),
           .max = MAX_LINES),
    OPTION(NAMED("metrics_lanes", INT, "2", "samples of lane_errors_total for each device"), .min = 0, .max = 1000),
    OPTION(NAMED("metrics_flood", INT, "0", "samples of the metric flood"), .min = 0, .max = 10000000),
    OPTION(NAMED("write", LIST, "[]", "prepare makes these accesses: \"file /sys/.../reset 1\""), .max = MAX_LINES),
    OPTION(NAMED("write_back", LIST, "[]", "unprepare makes these accesses"), .max = MAX_LINES),
    OPTION(NAMED("write_limit", DURATION, "0s", "how long each may take; 0s = until the deadline of the call"),
           .min = 0, .max = 3600000000000),
    OPTION(NAMED("discover_delay", DURATION, "0s", "how long discover takes"), LIVE),
    OPTION(NAMED("prepare_delay", DURATION, "0s", "how long prepare takes"), LIVE),
    OPTION(NAMED("unprepare_delay", DURATION, "0s", "how long unprepare takes"), LIVE),
    OPTION(NAMED("hang", STRING, "none", "this call never returns, not even when cancelled"), ONE_OF(calls)),
    OPTION(NAMED("crash", STRING, "none", "this call aborts the process"), ONE_OF(calls)),
    OPTION(NAMED("fail_create", STRING, "", "create fails with this text"), .max = 255),
    OPTION(NAMED("fail_discover", STRING, "", "discover fails with this text"), .max = 255),
    OPTION(NAMED("fail_prepare", LIST, "[]", "prepare of these devices fails: \"gpu-1 why\"; * = every device")),
    OPTION(NAMED("fail_unprepare", LIST, "[]", "unprepare of these devices fails: \"gpu-1 why\"; * = every device")),
    OPTION(NAMED("script", LIST, "[]", "events after the start: \"2s health gpu-1 bad XidError text\"")),
    OPTION(NAMED("script_file", STRING, "", "file with lines as in script, read again when it grows"), .max = 255),
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

static cage_status read_slots(const cage_call* call, const cage_values* options, struct hardware* hardware) {
  const cage_str* items = NULL;
  hardware->slot_count = options->list(options, "slots", &items);
  for (uint32_t i = 0; i < hardware->slot_count; ++i) {
    if (!text_number(items[i], MAX_DEVICES, &hardware->slots[i])) {
      return refuse(call, CAGE_INVALID_ARGUMENT, "option 'slots': '%.*s' is not a number up to %d; write \"1\"",
                    (int)(items[i].size < 64 ? items[i].size : 64), items[i].data, MAX_DEVICES);
    }
  }
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
  hardware->partitions_only = options->boolean(options, "partitions_only") != 0;
  hardware->shared = options->boolean(options, "shared") != 0;
  hardware->uuid_ids = options->boolean(options, "uuid_ids") != 0;
  cage_status status = read_slots(call, options, hardware);
  if (status == CAGE_OK) status = policies_read(call, options, &hardware->policies);
  return status == CAGE_OK ? bindings_read(call, options, &hardware->bindings) : status;
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

void settings_read_live(const cage_values* options, struct faults* faults) {
  faults_delay(faults, CALL_DISCOVER, (uint64_t)options->integer(options, "discover_delay"));
  faults_delay(faults, CALL_PREPARE, (uint64_t)options->integer(options, "prepare_delay"));
  faults_delay(faults, CALL_UNPREPARE, (uint64_t)options->integer(options, "unprepare_delay"));
}

static cage_status read_faults(const cage_call* call, const cage_values* options, struct faults* faults) {
  settings_read_live(options, faults);
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

static cage_status read_line_list(const cage_call* call, const cage_values* options, const char* name,
                                  struct lines* lines) {
  const cage_str* items = NULL;
  lines->count = options->list(options, name, &items);
  for (uint32_t i = 0; i < lines->count; ++i) {
    if (text_copy(lines->all[i], sizeof lines->all[i], items[i])) continue;
    return refuse(call, CAGE_INVALID_ARGUMENT, "option '%s': a line is longer than 511 bytes", name);
  }
  return CAGE_OK;
}

static cage_status read_words(const cage_call* call, const cage_values* options, const char* name,
                              struct words* words) {
  const cage_str* items = NULL;
  words->count = options->list(options, name, &items);
  for (uint32_t i = 0; i < words->count; ++i) {
    if (text_copy(words->all[i], sizeof words->all[i], items[i])) continue;
    return refuse(call, CAGE_INVALID_ARGUMENT, "option '%s': a word is longer than 255 bytes", name);
  }
  return CAGE_OK;
}

cage_status settings_read(const cage_call* call, const cage_values* options, struct settings* settings,
                          struct devices* devices, struct faults* faults) {
  cage_status status = read_hardware(call, options, &settings->hardware);
  if (status != CAGE_OK) return status;
  text_copy(settings->device_node, sizeof settings->device_node, options->string(options, "device_node"));
  text_copy(settings->mount_dir, sizeof settings->mount_dir, options->string(options, "mount_dir"));
  text_copy(settings->script_file, sizeof settings->script_file, options->string(options, "script_file"));
  settings->env_list = options->boolean(options, "env_list") != 0;
  settings->journal = options->boolean(options, "journal") != 0;
  settings->service_stop = options->boolean(options, "service_stop") != 0;
  status = read_words(call, options, "exec", &settings->exec);
  if (status == CAGE_OK) status = read_words(call, options, "service", &settings->service);
  if (status != CAGE_OK) return status;
  const cage_str* words = NULL;
  settings->label_count = options->list(options, "labels", &words);
  for (uint32_t i = 0; i < settings->label_count; ++i) {
    if (text_copy(settings->labels[i], sizeof settings->labels[i], words[i])) continue;
    return refuse(call, CAGE_INVALID_ARGUMENT, "option 'labels': a label is longer than 127 bytes");
  }
  settings->metrics_lanes = (uint32_t)options->integer(options, "metrics_lanes");
  settings->metrics_flood = (uint32_t)options->integer(options, "metrics_flood");
  status = read_line_list(call, options, "write", &settings->write);
  if (status == CAGE_OK) status = read_line_list(call, options, "write_back", &settings->write_back);
  if (status == CAGE_OK) status = read_line_list(call, options, "catalogue", &settings->catalogue);
  if (status == CAGE_OK) status = read_line_list(call, options, "statements", &settings->statements);
  if (status != CAGE_OK) return status;
  settings->write_limit_ms = (uint32_t)(options->integer(options, "write_limit") / 1000000);
  settings->exec_limit_ms = (uint32_t)(options->integer(options, "exec_limit") / 1000000);
  status = read_faults(call, options, faults);
  if (status != CAGE_OK) return status;
  return devices_make(devices, &settings->hardware, call);
}
