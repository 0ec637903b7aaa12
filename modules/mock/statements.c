/* cage.edits.status and cage.edits.metadata: states the lines of option `statements` for each prepared device. */
#include "instance.h"
#include "text.h"

enum { MAX_ADDRESSES = 20, MAX_DESCRIBED = 40 };

static uint32_t status_of(cage_str word) {
  if (text_is(word, "true")) return CAGE_CONDITION_TRUE;
  return text_is(word, "false") ? CAGE_CONDITION_FALSE : CAGE_CONDITION_UNKNOWN;
}

static cage_status state_condition(const cage_edits_status* family, cage_edits* edits, int32_t index, cage_str rest) {
  cage_condition condition = {.struct_size = sizeof condition};
  condition.type = text_word(&rest);
  condition.status = status_of(text_word(&rest));
  condition.reason = text_word(&rest);
  condition.message = rest;
  return family->condition(edits, index, &condition);
}

static cage_status state_network(const cage_edits_status* family, cage_edits* edits, int32_t index, cage_str rest) {
  cage_str addresses[MAX_ADDRESSES];
  cage_network_data network = {.struct_size = sizeof network, .ips = addresses};
  network.interface_name = text_word(&rest);
  network.hardware_address = text_word(&rest);
  while (rest.size > 0 && network.ip_count < MAX_ADDRESSES) addresses[network.ip_count++] = text_word(&rest);
  return family->network(edits, index, &network);
}

static cage_status describe(const cage_edits_metadata* family, cage_edits* edits, int32_t index, cage_str rest) {
  cage_attr attributes[MAX_DESCRIBED];
  uint32_t count = 0;
  while (rest.size > 0 && count < MAX_DESCRIBED) {
    cage_attr* attribute = &attributes[count++];
    *attribute = (cage_attr){.name = text_word(&rest), .type = CAGE_ATTR_STRING, .count = 1};
    attribute->v.s = text_word(&rest);
  }
  return family->describe(edits, index, attributes, count);
}

cage_status mock_state(const cage_instance* mock, int32_t index, cage_edits* edits) {
  const cage_edits_status* status = edits->extension(edits, CAGE_EDITS_STATUS);
  const cage_edits_metadata* metadata = edits->extension(edits, CAGE_EDITS_METADATA);
  cage_status stated = CAGE_OK;
  for (uint32_t i = 0; i < mock->settings.statements.count && stated == CAGE_OK; ++i) {
    cage_str rest = text_of(mock->settings.statements.all[i]);
    const cage_str word = text_word(&rest);
    if (status != NULL && text_is(word, "condition")) stated = state_condition(status, edits, index, rest);
    if (status != NULL && text_is(word, "data")) stated = status->data(edits, index, rest);
    if (status != NULL && text_is(word, "network")) stated = state_network(status, edits, index, rest);
    if (metadata != NULL && text_is(word, "describe")) stated = describe(metadata, edits, index, rest);
  }
  return stated;
}
