#include "params.h"

#include "declare.h"

#define SCHEMA(kind_, fields_)                                                                      \
  .struct_size = sizeof(cage_params_schema), .api_version = CAGE_LIT("mock.cardcage.dev/v1alpha1"), \
  .kind = CAGE_LIT(kind_), .fields = (fields_), .field_count = sizeof(fields_) / sizeof *(fields_)

static const cage_str sharing[] = {CAGE_LIT("exclusive"), CAGE_LIT("timeSlicing"), CAGE_LIT("spatial")};
static const cage_option* const any_fields[] = {
    OPTION(NAMED("sharing", STRING, "exclusive", "how the containers of a claim share a device"), ONE_OF(sharing)),
    OPTION(NAMED("intervalMs", INT, "10", "length of a time slice"), .min = 1, .max = 10000),
    OPTION(NAMED("env", LIST, "[]", "additional variables: \"KEY=value\""), .max = 64),
};
static const cage_option* const gpu_fields[] = {
    OPTION(NAMED("sharing.strategy", STRING, "exclusive", "how the containers of a claim share a gpu"),
           ONE_OF(sharing)),
    OPTION(NAMED("sharing.timeSlicing.intervalMs", INT, "10", "length of a time slice"), .min = 1, .max = 10000),
    OPTION(NAMED("sharing.memoryLimits", MAP, "", "memory that each container may use"), .max = 8),
    OPTION(NAMED("clocks.maxMhz", INT, "0", "limit of the clock; 0 = none"), .flags = CAGE_OPTION_CLASS_ONLY,
           .max = 5000),
};
static const cage_option* const nic_fields[] = {
    OPTION(NAMED("mtu", INT, "1500", "largest packet, bytes"), .min = 576, .max = 9216),
};
static const cage_str gpus[] = {CAGE_LIT("gpu")}, nics[] = {CAGE_LIT("nic")};

/* The first is for every device, so it gives the defaults. */
const cage_params_schema* const mock_schemas[MOCK_SCHEMA_COUNT] = {
    &(const cage_params_schema){SCHEMA("DeviceConfig", any_fields)},
    &(const cage_params_schema){SCHEMA("GpuConfig", gpu_fields), .device_kinds = gpus, .device_kind_count = 1},
    &(const cage_params_schema){SCHEMA("NicConfig", nic_fields), .device_kinds = nics, .device_kind_count = 1},
};
