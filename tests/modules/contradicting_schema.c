#include "base.h"
static const cage_option value = {
    .struct_size = sizeof(cage_option), .type = CAGE_OPTION_STRING, .name = CAGE_LIT("sharing")};
static const cage_option inner = {
    .struct_size = sizeof(cage_option), .type = CAGE_OPTION_STRING, .name = CAGE_LIT("sharing.strategy")};
static const cage_option* const fields[] = {&value, &inner};
static const cage_params_schema schema = {.struct_size = sizeof schema,
                                          .field_count = 2,
                                          .api_version = CAGE_LIT("example.com/v1"),
                                          .kind = CAGE_LIT("CardConfig"),
                                          .fields = fields};
static const cage_params_schema* const schemas[] = {&schema};
static const cage_module table = {BASE_TABLE, .schemas = schemas, .schema_count = 1};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
