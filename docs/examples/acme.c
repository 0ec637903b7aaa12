/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest module in C: two cards, each with a device node and a variable. */
#include <cardcage/module.h>
#include <stdlib.h>
#include <string.h>

struct cage_instance {
  const cage_host* host;
};

static const char* const cards[] = {"acme0", "acme1"};
static const char* const nodes[] = {"/dev/acme0", "/dev/acme1"};
enum { CARD_COUNT = 2 };

static cage_str text(const char* s) {
  cage_str str;
  str.data = s;
  str.size = strlen(s);
  return str;
}

static cage_status fail(const cage_call* call, cage_status status, const char* why) {
  call->explain(call, text(why));
  return status;
}

static cage_status acme_create(const cage_call* call, const cage_host* host, const cage_values* options,
                               cage_instance** out) {
  cage_instance* acme = calloc(1, sizeof *acme);
  (void)options;
  if (acme == NULL) return fail(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
  acme->host = host;
  *out = acme;
  return CAGE_OK;
}

static void acme_destroy(cage_instance* acme) { free(acme); }

static cage_status acme_discover(cage_instance* acme, const cage_call* call, cage_snapshot* out) {
  int i;
  (void)acme, (void)call;
  for (i = 0; i < CARD_COUNT; ++i) {
    cage_attr index = {CAGE_LIT("index"), CAGE_ATTR_INT, 1, {0}};
    cage_device card = {.struct_size = sizeof card};
    index.v.i = i;
    card.id = text(cards[i]);
    card.kind = text("card");
    card.attrs = &index;
    card.attr_count = 1;
    out->device(out, &card); /* copied; if the host refuses the card, it logs why */
  }
  return CAGE_OK;
}

static cage_status acme_prepare(cage_instance* acme, const cage_call* call, const cage_claim* claim, cage_edits* out) {
  uint32_t i;
  (void)acme;
  for (i = 0; i < claim->alloc_count; ++i) {
    cage_str id = claim->allocs[i]->device_id;
    cage_device_node node = {.struct_size = sizeof node};
    cage_status status;
    int card = 0;
    while (card < CARD_COUNT && strcmp(id.data, cards[card]) != 0) ++card;
    if (card == CARD_COUNT) return fail(call, CAGE_NOT_FOUND, "no such card");
    node.path = text(nodes[card]);
    node.major = node.minor = node.uid = node.gid = -1;
    status = out->device_node(out, (int32_t)i, &node);
    if (status == CAGE_OK) status = out->env_list(out, (int32_t)i, text("ACME_CARDS"), id);
    if (status != CAGE_OK) return status;
  }
  return CAGE_OK;
}

static cage_status acme_unprepare(cage_instance* acme, const cage_call* call, const cage_claim* claim) {
  (void)acme, (void)call, (void)claim;
  return CAGE_OK; /* nothing of a claim stays on the card */
}

const cage_module* cage_module_v1(uint32_t host_minor) {
  static const cage_module table = {.magic = CAGE_MAGIC,
                                    .struct_size = sizeof table,
                                    .abi_minor = CAGE_ABI_MINOR,
                                    .id = CAGE_LIT("com.acme.card"),
                                    .version = CAGE_LIT("1.0.0"),
                                    .vendor = CAGE_LIT("Acme"),
                                    .create = acme_create,
                                    .discover = acme_discover,
                                    .prepare = acme_prepare,
                                    .unprepare = acme_unprepare,
                                    .destroy = acme_destroy};
  (void)host_minor;
  return &table;
}
