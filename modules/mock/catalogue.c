/* cage.catalogue: reports the entries of option `catalogue`, "KIND NAME usable|refused DETAIL". */
#include "instance.h"
#include "text.h"

/* The host leaves out an entry that it refuses; the others stay. */
cage_status mock_collect_catalogue(cage_instance* mock, const cage_call* call, cage_catalogue_sink* out) {
  cage_status status = faults_enter(&mock->faults, CALL_CATALOGUE, call);
  if (status != CAGE_OK) return status;
  for (uint32_t i = 0; i < mock->settings.catalogue.count; ++i) {
    const cage_attr line = {.name = CAGE_LIT("line"), .type = CAGE_ATTR_INT, .count = 1, .v.i = i + 1};
    cage_catalogue_entry entry = {.struct_size = sizeof entry, .attrs = &line, .attr_count = 1};
    cage_str rest = text_of(mock->settings.catalogue.all[i]);
    entry.kind = text_word(&rest);
    entry.name = text_word(&rest);
    if (text_is(text_word(&rest), "refused")) entry.flags = CAGE_CATALOGUE_REFUSED;
    entry.detail = rest;
    out->entry(out, &entry);
  }
  return CAGE_OK;
}
