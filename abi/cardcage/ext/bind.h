/* SPDX-License-Identifier: Apache-2.0 */
/* cage.bind, offered by a module: makes devices ready before a pod gets them. A draft, which a later
 * host may replace by another revision (abi/STABILITY.md). binding.h declares the conditions. */
#include "../module.h"
#ifndef CARDCAGE_EXT_BIND_H_
#define CARDCAGE_EXT_BIND_H_
#include "condition.h"
#ifdef __cplusplus
extern "C" {
#endif

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
