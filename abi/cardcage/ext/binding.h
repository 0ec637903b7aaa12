/* SPDX-License-Identifier: Apache-2.0 */
/* cage.snapshot.binding, offered by the host in discover(): devices that are made ready before a pod
 * gets them. A draft, which a later host may replace by another revision (abi/STABILITY.md). */
#include "../module.h"
#ifndef CARDCAGE_EXT_BINDING_H_
#define CARDCAGE_EXT_BINDING_H_
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

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_BINDING_H_ */
