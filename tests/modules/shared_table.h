/* A table that the dynamic loader unites with that of every other module that exports it, as GCC does for an inline
 * variable of C++ that is not hidden. */
#include "base.h"

static const cage_module own_table __attribute__((used)) = {BASE_TABLE};
__asm__(
    ".globl shared_table\n"
    ".type shared_table, %gnu_unique_object\n"
    ".set shared_table, own_table\n"
    ".size shared_table, 8\n");
extern CAGE_EXPORT const cage_module shared_table;

const cage_module* cage_module_v1(uint32_t host_minor) {
  return shared_table.min_host_minor <= host_minor ? &shared_table : NULL;
}
