/* Declares parameters of every type with every limit, for tests of judgements by declaration. */
#include "base.h"

#define FIELD(name_, type_) .struct_size = sizeof(cage_option), .type = CAGE_OPTION_##type_, .name = CAGE_LIT(name_)
#define ONE_OF(list) .choices = (list), .choice_count = sizeof(list) / sizeof *(list)
#define SECOND 1000000000ll

static const cage_str modes[] = {CAGE_LIT("fast"), CAGE_LIT("it's"), CAGE_LIT("a \"b\" \\c"), CAGE_LIT("größer")};
static const cage_str colours[] = {CAGE_LIT("red"), CAGE_LIT("green")};

static const cage_option text = {FIELD("text", STRING)}, code = {FIELD("code", STRING), .min = 2, .max = 4},
                         mode = {FIELD("mode", STRING), ONE_OF(modes)},
                         token = {FIELD("token", STRING), .flags = CAGE_OPTION_SECRET, ONE_OF(colours)},
                         count = {FIELD("count", INT)}, level = {FIELD("level", INT), .min = -5, .max = 5},
                         strict = {FIELD("strict", BOOL)}, pause = {FIELD("pause", DURATION)},
                         timeout = {FIELD("timeout", DURATION), .min = SECOND, .max = 3600 * SECOND},
                         names = {FIELD("names", LIST)},
                         routes = {FIELD("routes", LIST), .flags = CAGE_OPTION_OBJECTS, .max = 2},
                         pairs = {FIELD("pairs", LIST), .min = 1, .max = 2},
                         tints = {FIELD("tints", LIST), ONE_OF(colours)}, labels = {FIELD("labels", MAP)},
                         limits = {FIELD("limits", MAP), .min = 1, .max = 2},
                         nested = {FIELD("in.true.namespace", INT), .min = 1, .max = 8},
                         needed = {FIELD("needed", INT), .flags = CAGE_OPTION_REQUIRED},
                         clock = {FIELD("clocks.maxMhz", INT), .flags = CAGE_OPTION_CLASS_ONLY, .max = 5000},
                         quota = {FIELD("quota.shares", INT), .flags = CAGE_OPTION_CLASS_ONLY | CAGE_OPTION_REQUIRED};

static const cage_option* const every_field[] = {&text,   &code,   &mode,    &token,  &count,  &level,
                                                 &strict, &pause,  &timeout, &names,  &routes, &pairs,
                                                 &tints,  &labels, &limits,  &nested, &clock};
static const cage_option* const needy_fields[] = {&needed, &quota};
static const cage_option* const other_fields[] = {&level};

#define SCHEMA(version, kind_, fields_)                                                                   \
  &(const cage_params_schema) {                                                                           \
    .struct_size = sizeof(cage_params_schema), .api_version = CAGE_LIT(version), .kind = CAGE_LIT(kind_), \
    .fields = (fields_), .field_count = sizeof(fields_) / sizeof *(fields_)                               \
  }
static const cage_params_schema* const schemas[] = {
    SCHEMA("every.example.com/v1", "EveryConfig", every_field),
    SCHEMA("every.example.com/v1", "NeedyConfig", needy_fields),
    SCHEMA("every.example.com/v2", "EveryConfig", other_fields),
};
static const cage_module table = {BASE_TABLE, .schemas = schemas, .schema_count = 3};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
