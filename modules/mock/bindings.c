#include "bindings.h"

#include <string.h>

#include "text.h"

static const cage_str attached = CAGE_LIT("mock.cardcage.dev/Attached"),
                      attach_failed = CAGE_LIT("mock.cardcage.dev/AttachFailed");

cage_status bindings_read(const cage_call* call, const cage_values* options, struct bindings* bindings) {
  const cage_str* items = NULL;
  bindings->kind_count = options->list(options, "binding", &items);
  for (uint32_t i = 0; i < bindings->kind_count; ++i) {
    if (text_copy(bindings->kinds[i], sizeof bindings->kinds[i], items[i])) continue;
    return refuse(call, CAGE_INVALID_ARGUMENT, "option 'binding': a kind is longer than 16 bytes");
  }
  bindings->failure_count = options->list(options, "bind_failures", &items);
  for (uint32_t i = 0; i < bindings->failure_count; ++i) {
    if (text_copy(bindings->failures[i], sizeof bindings->failures[i], items[i])) continue;
    return refuse(call, CAGE_INVALID_ARGUMENT, "option 'bind_failures': a device id is longer than 55 bytes");
  }
  bindings->time_ns = (uint64_t)options->integer(options, "bind_time");
  bindings->to_node = options->boolean(options, "binds_to_node") != 0;
  return CAGE_OK;
}

bool bindings_include(const struct bindings* bindings, const char* kind) {
  for (uint32_t i = 0; i < bindings->kind_count; ++i) {
    if (strcmp(bindings->kinds[i], kind) == 0) return true;
  }
  return false;
}

void bindings_report(const struct bindings* bindings, cage_str device_id, const char* kind, cage_snapshot* snapshot,
                     const cage_snapshot_binding* family) {
  if (!bindings_include(bindings, kind)) return;
  const cage_binding report = {.struct_size = sizeof report,
                               .flags = bindings->to_node ? CAGE_BINDING_TO_NODE : 0,
                               .conditions = &attached,
                               .failures = &attach_failed,
                               .condition_count = 1,
                               .failure_count = 1};
  family->set(snapshot, device_id, &report); /* the host leaves out and logs a device whose binding it refuses */
}

static cage_status state(cage_bind_sink* sink, int32_t index, cage_str type, bool holds, const char* reason,
                         const char* message) {
  const cage_condition condition = {.struct_size = sizeof condition,
                                    .status = holds ? CAGE_CONDITION_TRUE : CAGE_CONDITION_FALSE,
                                    .type = type,
                                    .reason = text_of(reason),
                                    .message = text_of(message)};
  return sink->condition(sink, index, &condition);
}

enum binding bindings_progress(const struct bindings* bindings, cage_str device_id, uint64_t elapsed_ns) {
  if (elapsed_ns < bindings->time_ns) return BINDING_WAITS;
  for (uint32_t i = 0; i < bindings->failure_count; ++i) {
    if (text_is(device_id, bindings->failures[i])) return BINDING_FAILED;
  }
  return BINDING_DONE;
}

cage_status bindings_state(enum binding progress, int32_t index, cage_bind_sink* sink) {
  static const char* const reasons[] = {"Attaching", "Attached", "NoPath"};
  const char* message = progress == BINDING_WAITS ? "the fabric is at work" : "";
  cage_status status = state(sink, index, attached, progress == BINDING_DONE, reasons[progress], message);
  if (status != CAGE_OK) return status;
  bool failed = progress == BINDING_FAILED;
  return state(sink, index, attach_failed, failed, failed ? "NoPath" : "NoFault",
               failed ? "the fabric has no path to this device" : "");
}
