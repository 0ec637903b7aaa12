/* Option `binding`: devices that are attached before a pod gets them (cage.snapshot.binding, cage.bind). */
#ifndef MOCK_BINDINGS_H_
#define MOCK_BINDINGS_H_
#include <cardcage/module.h>
#include <stdbool.h>

enum { MAX_BOUND_KINDS = 4, MAX_BIND_FAILURES = 8 };

struct bindings {
  char kinds[MAX_BOUND_KINDS][17];
  uint32_t kind_count;
  char failures[MAX_BIND_FAILURES][56]; /* ids of devices that cannot be attached */
  uint32_t failure_count;
  uint64_t time_ns; /* time to attach a device */
  bool to_node;
};

cage_status bindings_read(const cage_call* call, const cage_values* options, struct bindings* bindings);

bool bindings_include(const struct bindings* bindings, const char* kind);

/* Reports the conditions of a device of this kind. */
void bindings_report(const struct bindings* bindings, cage_str device_id, const char* kind, cage_snapshot* snapshot,
                     const cage_snapshot_binding* family);

enum binding { BINDING_WAITS, BINDING_DONE, BINDING_FAILED };
/* Returns the progress of a device after this time of attaching. */
enum binding bindings_progress(const struct bindings* bindings, cage_str device_id, uint64_t elapsed_ns);
cage_status bindings_state(enum binding progress, int32_t index, cage_bind_sink* sink);

#endif /* MOCK_BINDINGS_H_ */
