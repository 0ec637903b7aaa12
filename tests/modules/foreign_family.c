/* A function of one of its families lies in the C library. */
#include <stdlib.h>
#include <string.h>

#include "base.h"

static const cage_reconcile reconcile = {
    .struct_size = sizeof(cage_reconcile),
    .keep =
        (cage_status(*)(cage_instance*, const cage_call*, const cage_claim* const*, uint32_t))(void (*)(void))qsort};

static const void* extension(const char* id) { return strcmp(id, CAGE_EXT_RECONCILE) == 0 ? &reconcile : NULL; }

static const cage_module table = {BASE_TABLE, .extension = extension};
const cage_module* cage_module_v1(uint32_t host_minor) { return table.min_host_minor <= host_minor ? &table : NULL; }
