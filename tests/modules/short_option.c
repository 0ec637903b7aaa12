/* Its option has only the first members of that of ABI 1.0. */
#include "base.h"
static const cage_option speed = {.struct_size = 32, .type = CAGE_OPTION_INT, .name = CAGE_LIT("speed")};
static const cage_option* const options[] = {&speed};
static const cage_module table = {BASE_TABLE, .options = options, .option_count = 1};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
