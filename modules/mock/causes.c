/* The causes that the mock declares, one of each sort. Undeclared ones may be stated as well, which the host logs.
 */
#include "declare.h"
#include "instance.h"

#define CAUSE(text, ...) \
  &(const cage_cause) { .struct_size = sizeof(cage_cause), .name = CAGE_LIT(text), __VA_ARGS__ }

const cage_cause* const mock_causes[MOCK_CAUSE_COUNT] = {
    CAUSE("Temperature", .help = CAGE_LIT("the hottest sensor"), .unit = CAGE_LIT("Cel"), .flags = CAGE_CAUSE_ABOVE,
          .limit = 95, .clear_limit = 90, .severity = CAGE_HEALTH_DEGRADED),
    CAUSE("Power", .help = CAGE_LIT("the input power drops"), .unit = CAGE_LIT("W"), .flags = CAGE_CAUSE_BELOW,
          .limit = 20, .clear_limit = 30, .severity = CAGE_HEALTH_BAD, .hold_down_s = 2),
    CAUSE("Xid", .help = CAGE_LIT("the driver reported an error"), .flags = CAGE_CAUSE_EVENT,
          .recovery = CAGE_RECOVERY_SILENCE, .recovery_s = 10, .relapses = 5, .window_s = 3600),
    CAUSE("Replays", .help = CAGE_LIT("replays of the PCIe link, counted"), .unit = CAGE_LIT("1"),
          .recovery = CAGE_RECOVERY_STABLE, .recovery_s = 10, .severity = CAGE_HEALTH_DEGRADED),
    CAUSE("Ecc", .help = CAGE_LIT("errors in memory")),
    CAUSE("Broken", .help = CAGE_LIT("hardware that has to be replaced"), .recovery = CAGE_RECOVERY_OPERATOR,
          .taint = CAGE_TAINT_NO_EXECUTE),
    CAUSE("Link", .help = CAGE_LIT("the link to the switch")),
    CAUSE("Thermal", .help = CAGE_LIT("the cooling"), .taint = CAGE_TAINT_INFORM),
};
