/* A module in C that declares its parameters in cage_module.params, which 1.0 does not have. The bare variants have
 * neither names nor fields, or names alone, and read the text themselves. */
#include <stdio.h>
#include <string.h>

#include "cardcage/module.h"

static cage_status create(const cage_call* call, const cage_host* host, const cage_values* options,
                          cage_instance** out) {
  static char self;
  (void)call, (void)options;
  if (host->abi_minor < 3) return CAGE_FAILED_PRECONDITION;
  *out = (cage_instance*)(void*)&self;
  return CAGE_OK;
}
static cage_status discover(cage_instance* self, const cage_call* call, cage_snapshot* out) {
  (void)self, (void)call;
  const cage_device device = {.struct_size = sizeof(cage_device), .id = CAGE_LIT("card-0"), .kind = CAGE_LIT("card")};
  return out->device(out, &device);
}
static cage_status prepare(cage_instance* self, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  (void)self, (void)call;
  const cage_str mode = CAGE_LIT("MODE"), text = CAGE_LIT("TEXT");
  const cage_values* values = claim->allocs[0]->values;
  cage_status status = CAGE_OK;
  if (values != NULL) status = out->env(out, 0, mode, values->string(values, "mode"));
  if (status == CAGE_OK && claim->params_count > 0) status = out->env(out, 0, text, claim->params[0]->json);
  return status;
}
static cage_status unprepare(cage_instance* self, const cage_call* call, const cage_claim* claim) {
  (void)self, (void)call, (void)claim;
  return CAGE_OK;
}
static void destroy(cage_instance* self) { (void)self; }

#ifndef BARE
static const cage_str modes[] = {CAGE_LIT("fast"), CAGE_LIT("quiet")};
static const cage_option mode = {.struct_size = sizeof(cage_option),
                                 .type = CAGE_OPTION_STRING,
                                 .flags = CAGE_OPTION_LIVE, /* which 0.3 ignored here */
                                 .choice_count = 2,
                                 .name = CAGE_LIT("mode"),
                                 .default_text = CAGE_LIT("fast"),
                                 .help = CAGE_LIT("how the fans run"),
                                 .choices = modes};
static const cage_option* const params[] = {&mode};
#endif

static const cage_module table = {.magic = CAGE_MAGIC,
                                  .struct_size = sizeof(cage_module),
                                  .abi_minor = CAGE_ABI_MINOR,
                                  .min_host_minor = 1,
                                  .id = CAGE_LIT("kept.params"),
                                  .version = CAGE_LIT("0.3.0"),
                                  .vendor = CAGE_LIT("Cardcage"),
#ifndef BARE
                                  .params = params,
                                  .param_count = 1,
#endif
#ifndef NAMELESS
                                  .params_api_version = CAGE_LIT("kept.cardcage.dev/v1"),
                                  .params_kind = CAGE_LIT("CardConfig"),
#endif
                                  .create = create,
                                  .discover = discover,
                                  .prepare = prepare,
                                  .unprepare = unprepare,
                                  .destroy = destroy};
const cage_module* cage_module_v0(uint32_t host_minor) { return host_minor >= 3 ? &table : NULL; }
