/* The mock module: hardware that exists only in its options and misbehaves on demand. See README.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"
#include "params.h"
#include "text.h"

static cage_status read_script(cage_instance* mock, const cage_call* call, const cage_values* options) {
  const cage_str* lines = NULL;
  uint32_t count = options->list(options, "script", &lines);
  for (uint32_t i = 0; i < count; ++i) {
    cage_status status = script_add(&mock->script, call, lines[i]);
    if (status != CAGE_OK) return status;
  }
  return CAGE_OK;
}

static void mock_destroy(cage_instance* mock) {
  script_stop(&mock->script);
  holds_free(&mock->holds);
  devices_free(&mock->devices);
  faults_free(&mock->faults);
  free(mock);
}

static cage_status mock_create(const cage_call* call, const cage_host* host, const cage_values* options,
                               cage_instance** out) {
  cage_instance* mock = calloc(1, sizeof *mock);
  if (mock == NULL) return refuse(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
  mock->host = host;
  faults_init(&mock->faults, host);
  devices_init(&mock->devices);
  holds_init(&mock->holds);
  script_init(&mock->script, host, &mock->devices, &mock->faults, mock->settings.script_file);
  cage_status status = settings_read(call, options, &mock->settings, &mock->devices, &mock->faults);
  if (status == CAGE_OK) status = faults_enter(&mock->faults, CALL_CREATE, call);
  if (status == CAGE_OK) status = holds_open(&mock->holds, mock->settings.mount_dir, &mock->devices, call);
  if (status == CAGE_OK) status = read_script(mock, call, options);
  if (status != CAGE_OK) {
    mock_destroy(mock);
    return status;
  }
  *out = mock;
  return CAGE_OK;
}

static cage_status mock_start(cage_instance* mock, const cage_call* call) {
  cage_status status = faults_enter(&mock->faults, CALL_START, call);
  return status == CAGE_OK ? script_start(&mock->script, call) : status;
}

static cage_status mock_configure(cage_instance* mock, const cage_call* call, const cage_values* options) {
  cage_status status = faults_enter(&mock->faults, CALL_CONFIGURE, call);
  if (status == CAGE_OK) settings_read_live(options, &mock->faults);
  return status;
}

static cage_status mock_stop(cage_instance* mock, const cage_call* call) {
  cage_status status = faults_enter(&mock->faults, CALL_STOP, call);
  script_stop(&mock->script);
  return status;
}

static cage_status mock_discover(cage_instance* mock, const cage_call* call, cage_snapshot* snapshot) {
  cage_status status = faults_enter(&mock->faults, CALL_DISCOVER, call);
  return status == CAGE_OK ? devices_report(&mock->devices, call, snapshot) : status;
}

static cage_status mock_check(cage_instance* mock, const cage_call* call, cage_str device_id) {
  cage_status status = faults_enter(&mock->faults, CALL_CHECK, call);
  if (status != CAGE_OK) return status;
  const struct device* device = devices_find(&mock->devices, device_id);
  if (device == NULL || !devices_present(&mock->devices, device)) {
    return refuse(call, CAGE_NOT_FOUND, "no device '%.*s'", (int)device_id.size, device_id.data);
  }
  devices_tell_health(&mock->devices, device, mock->host);
  return CAGE_OK;
}

static cage_status mock_quiesce(cage_instance* mock, const cage_call* call) {
  cage_status status = faults_enter(&mock->faults, CALL_QUIESCE, call);
  if (status != CAGE_OK) return status;
  mock->quiesced = true;
  holds_suspend(&mock->holds);
  return CAGE_OK;
}

static cage_status mock_resume(cage_instance* mock, const cage_call* call) {
  cage_status status = faults_enter(&mock->faults, CALL_RESUME, call);
  if (status == CAGE_OK) status = holds_reopen(&mock->holds, call);
  if (status == CAGE_OK) mock->quiesced = false;
  return status;
}

/* Resuming a device that is gone succeeds. */
static cage_status set_quiesced(cage_instance* mock, const cage_call* call, enum call_kind kind, cage_str device_id) {
  cage_status status = faults_enter(&mock->faults, kind, call);
  struct device* device = devices_find(&mock->devices, device_id);
  if (status == CAGE_OK && device != NULL) status = faults_device(&mock->faults, kind, call, device->id);
  if (status == CAGE_OK && device != NULL) device->quiesced = kind == CALL_QUIESCE;
  return status;
}

static cage_status mock_quiesce_device(cage_instance* mock, const cage_call* call, cage_str device_id) {
  return set_quiesced(mock, call, CALL_QUIESCE, device_id);
}

static cage_status mock_resume_device(cage_instance* mock, const cage_call* call, cage_str device_id) {
  return set_quiesced(mock, call, CALL_RESUME, device_id);
}

/* Clears the causes of the hardware and of its partitions. */
static cage_status mock_reset(cage_instance* mock, const cage_call* call, cage_str device_id) {
  cage_status status = faults_enter(&mock->faults, CALL_RESET, call);
  if (status != CAGE_OK) return status;
  struct device* device = devices_find(&mock->devices, device_id);
  if (device == NULL || !devices_present(&mock->devices, device)) {
    return refuse(call, CAGE_NOT_FOUND, "no device '%.*s'", (int)device_id.size, device_id.data);
  }
  if (device->parent != NULL) {
    return refuse(call, CAGE_UNIMPLEMENTED, "device '%s' is a partition; reset '%s'", device->id, device->parent->id);
  }
  status = faults_device(&mock->faults, CALL_RESET, call, device->id);
  if (status != CAGE_OK) return status;
  for (uint32_t i = 0; i <= device->part_count; ++i) devices_heal(&mock->devices, device + i, mock->host);
  device->resets += 1;
  char line[96];
  int size = snprintf(line, sizeof line, "reset of %s, number %" PRIu32 " since the start", device->id, device->resets);
  mock->host->log(mock->host, CAGE_LOG_INFO, (cage_str){line, (size_t)size});
  return CAGE_OK;
}

static const void* mock_extension(const char* id) {
  static const cage_preferred preferred = {.struct_size = sizeof preferred, .choose = mock_choose};
  static const cage_pre_start pre_start = {.struct_size = sizeof pre_start, .pre_start = mock_pre_start};
  static const cage_configure configure = {.struct_size = sizeof configure, .configure = mock_configure};
  static const cage_quiesce quiesce = {
      .struct_size = sizeof quiesce, .quiesce = mock_quiesce_device, .resume = mock_resume_device};
  static const cage_reset reset = {.struct_size = sizeof reset, .reset = mock_reset};
  static const cage_bind bind = {.struct_size = sizeof bind, .bind = mock_bind};
  static const cage_reconcile reconcile = {.struct_size = sizeof reconcile, .keep = mock_reconcile};
  static const cage_metrics metrics = {.struct_size = sizeof metrics,
                                       .metric_count = MOCK_METRIC_COUNT,
                                       .metrics = mock_metrics,
                                       .collect = mock_collect_metrics};
  static const cage_labels labels = {.struct_size = sizeof labels, .collect = mock_collect_labels};
  static const cage_catalogue catalogue = {.struct_size = sizeof catalogue, .collect = mock_collect_catalogue};
#ifdef MOCK_WATCH
  if (strcmp(id, CAGE_EXT_WATCH) == 0) return mock_watch();
#endif
  if (strcmp(id, CAGE_EXT_METRICS) == 0) return &metrics;
  if (strcmp(id, CAGE_EXT_LABELS) == 0) return &labels;
  if (strcmp(id, CAGE_EXT_CATALOGUE) == 0) return &catalogue;
  if (strcmp(id, CAGE_EXT_PREFERRED) == 0) return &preferred;
  if (strcmp(id, CAGE_EXT_PRE_START) == 0) return (MOCK_FLAGS & CAGE_MODULE_NO_PREPARE) == 0 ? &pre_start : NULL;
  if (strcmp(id, CAGE_EXT_CONFIGURE) == 0) return &configure;
  if (strcmp(id, CAGE_EXT_QUIESCE) == 0) return &quiesce;
  if (strcmp(id, CAGE_EXT_RESET) == 0) return &reset;
  if (strcmp(id, CAGE_EXT_BIND) == 0) return &bind;
  if (strcmp(id, CAGE_EXT_RECONCILE) == 0) return &reconcile;
  return NULL;
}

const cage_module* cage_module_v1(uint32_t host_minor) {
  static const cage_module table = {.magic = CAGE_MAGIC,
                                    .struct_size = sizeof table,
                                    .abi_minor = CAGE_ABI_MINOR,
                                    .flags = MOCK_FLAGS,
                                    .state_version = MOCK_STATE_VERSION,
                                    .id = CAGE_LIT("dev.cardcage.mock"),
                                    .version = CAGE_LIT("0.1.0"),
                                    .vendor = CAGE_LIT("Cardcage"),
                                    .options = mock_options,
                                    .option_count = MOCK_OPTION_COUNT,
                                    .create = mock_create,
                                    .start = mock_start,
                                    .discover = mock_discover,
                                    .prepare = mock_prepare,
                                    .unprepare = mock_unprepare,
                                    .check = mock_check,
                                    .quiesce = mock_quiesce,
                                    .resume = mock_resume,
                                    .stop = mock_stop,
                                    .destroy = mock_destroy,
                                    .extension = mock_extension,
                                    .schemas = mock_schemas,
                                    .schema_count = MOCK_SCHEMA_COUNT,
                                    .causes = mock_causes,
                                    .cause_count = MOCK_CAUSE_COUNT};
  (void)host_minor;
  return &table;
}
