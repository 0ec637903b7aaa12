/* The count of the choices is missing, so any value is allowed. */
#include "base.h"
static const cage_str modes[] = {CAGE_LIT("fast"), CAGE_LIT("quiet")};
static const cage_option mode = {.struct_size = sizeof mode,
                                 .type = CAGE_OPTION_STRING,
                                 .name = CAGE_LIT("mode"),
                                 .help = CAGE_LIT("how fast"),
                                 .choices = modes};
static const cage_option* const options[] = {&mode};
static const cage_module table = {BASE_TABLE, .options = options, .option_count = 1};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
