/* Uses the parts of module.h that an old C compiler may reject. Only compiled, with every compiler and standard. */
#include <cardcage/module.h>

static const cage_str name = CAGE_LIT("name");
static const cage_option option = {sizeof(cage_option),
                                   CAGE_OPTION_BOOL,
                                   CAGE_OPTION_LIVE,
                                   0,
                                   CAGE_LIT("a"),
                                   CAGE_LIT("true"),
                                   CAGE_LIT("help"),
                                   0,
                                   0,
                                   0};

static const cage_module table = {CAGE_MAGIC, sizeof(cage_module), CAGE_ABI_MINOR, 0, CAGE_MODULE_UNLOADABLE, 0};

const cage_module* cage_module_v1(uint32_t host_minor) { return host_minor < table.min_host_minor ? NULL : &table; }

size_t use(const cage_health* health, const cage_module* module);
size_t use(const cage_health* health, const cage_module* module) {
  size_t used = CAGE_HAS(health, taint) ? health->reason.size : name.size;
  return CAGE_CAN(module, check) ? used : option.name.size;
}
