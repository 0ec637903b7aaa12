/* A minimal valid module. Each test module includes it and breaks one thing. */
#ifndef CARDCAGE_TESTS_MODULES_BASE_H_
#define CARDCAGE_TESTS_MODULES_BASE_H_

#include "cardcage/module.h"

#define UNUSED __attribute__((unused))

UNUSED static const cage_host* base_host;

UNUSED static cage_status base_create(const cage_call* call, const cage_host* host, const cage_values* options,
                                      cage_instance** out) {
  static char self;
  (void)call, (void)options;
  base_host = host;
  *out = (cage_instance*)(void*)&self;
  return CAGE_OK;
}
UNUSED static cage_status base_discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  (void)self, (void)call, (void)out;
  return CAGE_OK;
}
UNUSED static cage_status base_prepare(cage_instance* self, const cage_call* call, const cage_claim* claim,
                                       cage_edits* out) {
  (void)self, (void)call, (void)claim, (void)out;
  return CAGE_OK;
}
UNUSED static cage_status base_unprepare(cage_instance* self, const cage_call* call, const cage_claim* claim) {
  (void)self, (void)call, (void)claim;
  return CAGE_OK;
}
UNUSED static void base_destroy(cage_instance* self) { (void)self; }

#define BASE_NAMES .id = CAGE_LIT("example.test"), .version = CAGE_LIT("1.2.3"), .vendor = CAGE_LIT("Example")
#define BASE_FUNCTIONS                                                                                    \
  .create = base_create, .discover = base_discover, .prepare = base_prepare, .unprepare = base_unprepare, \
  .destroy = base_destroy
#define BASE_TABLE \
  .magic = CAGE_MAGIC, .struct_size = sizeof(cage_module), .abi_minor = CAGE_ABI_MINOR, BASE_NAMES, BASE_FUNCTIONS

#endif
