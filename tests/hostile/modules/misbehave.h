/* For modules whose fault happens in check(). If a module has several faults, the device id selects one. */
#ifndef CARDCAGE_TESTS_HOSTILE_MODULES_MISBEHAVE_H_
#define CARDCAGE_TESTS_HOSTILE_MODULES_MISBEHAVE_H_

#include <string.h>

#include "tests/modules/base.h"

/* Passes a text to the test, as the id of a device in a health report. */
UNUSED static void report_text(const char* what) {
  const cage_health health = {
      .struct_size = sizeof health, .state = CAGE_HEALTH_OK, .device_id = {what, strlen(what)}, .timeout_s = 0};
  base_host->health(base_host, &health);
}

#define MODULE_WITH(...)                                      \
  static const cage_module table = {BASE_TABLE, __VA_ARGS__}; \
  const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }

#endif
