#include "policies.h"

#include <string.h>

#include "text.h"

static bool read_amounts(cage_str* rest, cage_quantity* amounts, uint32_t room, uint32_t* count) {
  for (*count = 0; rest->size > 0; ++*count) {
    if (*count == room || !text_amount(text_word(rest), &amounts[*count])) return false;
  }
  return *count > 0;
}

static bool read_policy(cage_str line, struct policy* policy) {
  bool good = text_copy(policy->kind, sizeof policy->kind, text_word(&line)) &&
              text_copy(policy->capacity, sizeof policy->capacity, text_word(&line)) &&
              text_amount(text_word(&line), &policy->initial);
  if (!good || line.size == 0) return good;
  cage_str form = text_word(&line);
  if (text_is(form, "values")) return read_amounts(&line, policy->values, MAX_AMOUNTS, &policy->value_count);
  return text_is(form, "range") && read_amounts(&line, policy->range, 3, &policy->range_count);
}

cage_status policies_read(const cage_call* call, const cage_values* options, struct policies* policies) {
  const cage_str* lines = NULL;
  policies->count = options->list(options, "shared_capacity", &lines);
  for (uint32_t i = 0; i < policies->count; ++i) {
    if (read_policy(lines[i], &policies->all[i])) continue;
    return refuse(call, CAGE_INVALID_ARGUMENT,
                  "option 'shared_capacity': '%.*s' is not as \"gpu memory 4Gi range 2Gi 16Gi 2Gi\" or "
                  "\"gpu slices 1 values 1 2 4\"",
                  (int)(lines[i].size < 64 ? lines[i].size : 64), lines[i].data);
  }
  return CAGE_OK;
}

void policies_report(const struct policies* policies, cage_str device_id, const char* kind, cage_snapshot* snapshot,
                     const cage_snapshot_policy* family) {
  for (uint32_t i = 0; i < policies->count; ++i) {
    const struct policy* policy = &policies->all[i];
    if (strcmp(policy->kind, kind) != 0) continue;
    cage_request_policy report = {.struct_size = sizeof report,
                                  .value_count = policy->value_count,
                                  .default_amount = &policy->initial,
                                  .values = policy->values,
                                  .min = policy->range_count > 0 ? &policy->range[0] : NULL,
                                  .max = policy->range_count > 1 ? &policy->range[1] : NULL,
                                  .step = policy->range_count > 2 ? &policy->range[2] : NULL};
    /* The host leaves out and logs a device whose policy it refuses; the others stay. */
    family->set(snapshot, device_id, text_of(policy->capacity), &report);
  }
}
