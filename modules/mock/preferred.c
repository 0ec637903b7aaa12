/* cage.preferred: keeps a container's devices on one socket. */
#include <stdlib.h>

#include "instance.h"
#include "text.h"

enum { NOT_OFFERED = 0, OFFERED = 1, CHOSEN = 2 };

struct choice {
  unsigned char* marks; /* by position in devices.all */
  uint32_t offered[MAX_SOCKETS], chosen[MAX_SOCKETS];
};

static cage_status mark(cage_instance* mock, const cage_call* call, cage_str id, unsigned char from, unsigned char to,
                        struct choice* choice, const struct device** marked) {
  const struct device* device = devices_find(&mock->devices, id);
  if (device == NULL || choice->marks[device - mock->devices.all] != from) {
    return refuse(call, CAGE_INVALID_ARGUMENT, "device '%.*s' is unknown, named twice or required but not available",
                  (int)id.size, id.data);
  }
  choice->marks[device - mock->devices.all] = to;
  ++(to == OFFERED ? choice->offered : choice->chosen)[device->socket];
  *marked = device;
  return CAGE_OK;
}

/* Returns the socket with the most chosen devices; among equals, the one that offers the most. */
static int32_t best_socket(const struct choice* choice, const bool* done) {
  int32_t best = -1;
  for (int32_t i = 0; i < MAX_SOCKETS; ++i) {
    if (done[i]) continue;
    if (best < 0 || choice->chosen[i] > choice->chosen[best] ||
        (choice->chosen[i] == choice->chosen[best] && choice->offered[i] > choice->offered[best])) {
      best = i;
    }
  }
  return best;
}

static cage_status fill(const cage_instance* mock, struct choice* choice, uint32_t missing, cage_id_sink* out) {
  bool done[MAX_SOCKETS] = {false};
  for (int pass = 0; pass < MAX_SOCKETS && missing > 0; ++pass) {
    int32_t socket = best_socket(choice, done);
    done[socket] = true;
    for (uint32_t i = 0; i < mock->devices.count && missing > 0; ++i) {
      const struct device* device = &mock->devices.all[i];
      if (choice->marks[i] != OFFERED || device->socket != socket) continue;
      cage_status status = out->id(out, text_of(device->id));
      if (status != CAGE_OK) return status;
      --missing;
    }
  }
  return CAGE_OK;
}

static cage_status choose(cage_instance* mock, const cage_call* call, const cage_str* available,
                          uint32_t available_count, const cage_str* required, uint32_t required_count, uint32_t want,
                          struct choice* choice, cage_id_sink* out) {
  const struct device* device = NULL;
  for (uint32_t i = 0; i < available_count; ++i) {
    cage_status status = mark(mock, call, available[i], NOT_OFFERED, OFFERED, choice, &device);
    if (status != CAGE_OK) return status;
  }
  for (uint32_t i = 0; i < required_count; ++i) {
    cage_status status = mark(mock, call, required[i], OFFERED, CHOSEN, choice, &device);
    if (status == CAGE_OK) status = out->id(out, text_of(device->id));
    if (status != CAGE_OK) return status;
  }
  return fill(mock, choice, want - required_count, out);
}

cage_status mock_choose(cage_instance* mock, const cage_call* call, const cage_str* available, uint32_t available_count,
                        const cage_str* required, uint32_t required_count, uint32_t want, cage_id_sink* out) {
  cage_status status = faults_enter(&mock->faults, CALL_CHOOSE, call);
  if (status != CAGE_OK) return status;
  if (want > available_count || required_count > want) {
    return refuse(call, CAGE_INVALID_ARGUMENT, "%u devices wanted, %u required of %u available", want, required_count,
                  available_count);
  }
  struct choice choice = {.marks = calloc(mock->devices.count + 1u, 1)};
  if (choice.marks == NULL) return refuse(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
  status = choose(mock, call, available, available_count, required, required_count, want, &choice, out);
  free(choice.marks);
  return status;
}
