/* SPDX-License-Identifier: Apache-2.0 */
/* cage.metrics, offered by a module: figures for Prometheus. */
#include "../module.h"
#ifndef CARDCAGE_EXT_METRICS_H_
#define CARDCAGE_EXT_METRICS_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_METRICS "cage.metrics/1"

enum { CAGE_METRIC_GAUGE = 1, CAGE_METRIC_COUNTER = 2 };
typedef struct cage_metric {       /* static const storage in the module */
  uint32_t struct_size;
  uint32_t type;
  cage_str name;                   /* [a-z][a-z0-9_]*, at most 64, unit last: temperature_celsius;
                                      that of a COUNTER ends in _total. The host prefixes it. Or
                                      [A-Z][A-Z0-9_]*, as it is: dashboards know it already */
  cage_str help;                   /* one line */
  const cage_str *labels;          /* their names: [a-zA-Z][a-zA-Z0-9_]*, at most 16 */
  uint32_t label_count;
  uint32_t reserved;
} cage_metric;

typedef struct cage_metrics_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  /* metric: the index in cage_metrics.metrics. device_id: empty = of the instance. label_values: as
   * many as the metric has labels. Not OK: the host left the sample out and logged why; continue. */
  cage_status (*sample)(struct cage_metrics_sink *, uint32_t metric, cage_str device_id,
                        const cage_str *label_values, double value);
} cage_metrics_sink;

/* collect: reports every current sample, each time. The host adds the pod, its container and the
 * claim that hold the device. [R17] */
typedef struct cage_metrics {
  uint32_t struct_size;
  uint32_t metric_count;
  const cage_metric *const *metrics;
  cage_status (*collect)(cage_instance *, const cage_call *, cage_metrics_sink *);
} cage_metrics;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_METRICS_H_ */
