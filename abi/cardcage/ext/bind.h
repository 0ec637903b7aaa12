/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are made ready before a pod gets them, since 0.3. cage.snapshot.binding, offered by
 * the host in discover(), declares their conditions; cage.bind, offered by a module, makes them true.
 */
#include "../module.h"
#ifndef CARDCAGE_EXT_BIND_H_
#define CARDCAGE_EXT_BIND_H_
#include "condition.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_SNAPSHOT_BINDING "cage.snapshot.binding/1"

enum { CAGE_BINDING_TO_NODE = 1u << 0 };  /* the claim stays on the node that was chosen for it */
typedef struct cage_binding {
  uint32_t struct_size;
  uint32_t flags;                  /* CAGE_BINDING_* */
  const cage_str *conditions;      /* types: all must be TRUE before a pod gets the device */
  const cage_str *failures;        /* types: if one is TRUE, the pod gets another device */
  uint32_t condition_count;        /* 1 to 4 of each; no type comes twice */
  uint32_t failure_count;
} cage_binding;

/* set: before or after device(); needs cage.bind. The scheduler allocates the device, but lets the
 * pod wait for these conditions (KEP-5007). Without the call a device is ready at once. */
typedef struct cage_snapshot_binding {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*set)(cage_snapshot *, cage_str device_id, const cage_binding *);
} cage_snapshot_binding;

#define CAGE_EXT_BIND "cage.bind/1"

typedef struct cage_bind_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*condition)(struct cage_bind_sink *, int32_t alloc, const cage_condition *);
} cage_bind_sink;

/* bind: a pod waits for devices of this claim that have binding conditions. Begins or continues to
 * make them ready, and states the status of each condition. The claim is as in prepare().
 * The host repeats the call every few seconds, and after a restart, until all conditions are TRUE
 * or a failure is; if no pod waits any more, it calls unprepare() [R25]. */
typedef struct cage_bind {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*bind)(cage_instance *, const cage_call *, const cage_claim *, cage_bind_sink *);
} cage_bind;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_BIND_H_ */
