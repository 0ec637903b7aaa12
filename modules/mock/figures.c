/* cage.metrics and cage.labels: figures that depend on the device alone, and the labels of the options. */
#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "text.h"

enum { TEMPERATURE, ENERGY, LANE_ERRORS, DEVICES, FLOOD, METRIC_COUNT };

/* NOLINTBEGIN(bugprone-macro-parentheses): the parameters are parts of an initializer */
#define METRIC(type_, name_, help_) \
  .struct_size = sizeof(cage_metric), .type = CAGE_METRIC_##type_, .name = CAGE_LIT(name_), .help = CAGE_LIT(help_)
/* NOLINTEND(bugprone-macro-parentheses) */
static const cage_str lane_label[] = {CAGE_LIT("lane")}, number_label[] = {CAGE_LIT("number")};
static const cage_metric temperature = {METRIC(GAUGE, "temperature_celsius", "of the hottest sensor")};
static const cage_metric energy = {METRIC(COUNTER, "energy_joules_total", "since the device was made")};
static const cage_metric lane_errors = {METRIC(COUNTER, "lane_errors_total", "by lane"), .labels = lane_label,
                                        .label_count = 1};
static const cage_metric device_count = {METRIC(GAUGE, "devices", "that the module has")};
static const cage_metric flood = {METRIC(GAUGE, "flood", "as many as metrics_flood asks for"), .labels = number_label,
                                  .label_count = 1};
const cage_metric* const mock_metrics[MOCK_METRIC_COUNT] = {[TEMPERATURE] = &temperature,
                                                            [ENERGY] = &energy,
                                                            [LANE_ERRORS] = &lane_errors,
                                                            [DEVICES] = &device_count,
                                                            [FLOOD] = &flood};
_Static_assert((int)MOCK_METRIC_COUNT == (int)METRIC_COUNT, "the header counts them");

static void sample_device(const cage_instance* mock, const struct device* device, cage_metrics_sink* out) {
  const cage_str id = text_of(device->id);
  const uint64_t hash = text_hash(TEXT_HASH_START, id);
  out->sample(out, TEMPERATURE, id, NULL, 40.0 + (double)(hash % 400) / 10.0);
  out->sample(out, ENERGY, id, NULL, (double)(hash % 1000000));
  for (uint32_t lane = 0; lane < mock->settings.metrics_lanes; ++lane) {
    char number[12];
    snprintf(number, sizeof number, "%u", lane);
    const cage_str value = text_of(number);
    out->sample(out, LANE_ERRORS, id, &value, (double)(hash % (lane + 7)));
  }
}

cage_status mock_collect_metrics(cage_instance* mock, const cage_call* call, cage_metrics_sink* out) {
  cage_status status = faults_enter(&mock->faults, CALL_METRICS, call);
  if (status != CAGE_OK) return status;
  uint32_t present = 0;
  for (uint32_t i = 0; i < mock->devices.count; ++i) {
    if (!devices_present(&mock->devices, &mock->devices.all[i])) continue;
    sample_device(mock, &mock->devices.all[i], out);
    ++present;
  }
  const cage_str none = {NULL, 0};
  out->sample(out, DEVICES, none, NULL, present);
  for (uint32_t i = 0; i < mock->settings.metrics_flood; ++i) {
    char number[12];
    snprintf(number, sizeof number, "%u", i);
    const cage_str value = text_of(number);
    out->sample(out, FLOOD, none, &value, i);
  }
  return CAGE_OK;
}

/* The host leaves out an option "name=value" that it refuses; the others stay. */
cage_status mock_collect_labels(cage_instance* mock, const cage_call* call, cage_label_sink* out) {
  cage_status status = faults_enter(&mock->faults, CALL_LABELS, call);
  if (status != CAGE_OK) return status;
  for (uint32_t i = 0; i < mock->settings.label_count; ++i) {
    const char* label = mock->settings.labels[i];
    const char* equals = strchr(label, '=');
    const cage_str name = {label, equals != NULL ? (size_t)(equals - label) : strlen(label)};
    out->label(out, name, text_of(equals != NULL ? equals + 1 : ""));
  }
  return CAGE_OK;
}
