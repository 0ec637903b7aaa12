/* SPDX-License-Identifier: Apache-2.0 */
/* cage.poll, offered by the host: waits for descriptors. */
#include "../module.h"
#ifndef CARDCAGE_EXT_POLL_H_
#define CARDCAGE_EXT_POLL_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_HOST_POLL "cage.poll/1"

/* add: once the descriptor is readable, has an error or hung up, events() of cage.watch, which the
 * module needs, gets one DESCRIPTOR event; it is watched again when that call has returned. At most
 * 64. The module keeps the descriptor, and closes it after remove() only. [any-thread] */
typedef struct cage_poll {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*add)(const cage_host *, int32_t descriptor);
  cage_status (*remove)(const cage_host *, int32_t descriptor);
} cage_poll;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_POLL_H_ */
