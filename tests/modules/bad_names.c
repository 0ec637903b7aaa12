#include "base.h"
static const cage_option bad = {
    .struct_size = sizeof(cage_option), .type = CAGE_OPTION_INT, .name = CAGE_LIT("9lives")};
static const cage_option* const options[] = {&bad};
static const cage_module table = {BASE_TABLE, .options = options, .option_count = 1};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
