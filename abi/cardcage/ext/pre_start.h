/* SPDX-License-Identifier: Apache-2.0 */
/* cage.pre_start, offered by a module: the device plugin's PreStartContainer. */
#include "../module.h"
#ifndef CARDCAGE_EXT_PRE_START_H_
#define CARDCAGE_EXT_PRE_START_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_PRE_START "cage.pre_start/1"

/* pre_start: a container with the device of the claim is about to start, for the first time or
 * again: reset or scrub the device. Unless the call returns OK, the container does not start and
 * the kubelet tries again later. The edits of prepare() stay valid [R15]. */
typedef struct cage_pre_start {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*pre_start)(cage_instance *, const cage_call *, const cage_claim *);
} cage_pre_start;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_PRE_START_H_ */
