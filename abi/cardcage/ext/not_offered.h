/* SPDX-License-Identifier: Apache-2.0 */
/* cage.snapshot.not_offered, offered by the host in discover(): hardware left out. */
#include "../module.h"
#ifndef CARDCAGE_EXT_NOT_OFFERED_H_
#define CARDCAGE_EXT_NOT_OFFERED_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_SNAPSHOT_NOT_OFFERED "cage.snapshot.not_offered/1"

/* add: hardware that discover() found and does not list as a device: its name for people
 * ("0000:3b:00.0", "eth0"; at most 63 bytes) and why ("it has the node's default route"; at most
 * 1024 bytes), neither empty. At most 256 in a snapshot. Operators see them in 'cagectl devices
 * --not-offered', and the host logs each new reason, so the module need not. */
typedef struct cage_snapshot_not_offered {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*add)(cage_snapshot *, cage_str name, cage_str reason);
} cage_snapshot_not_offered;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_NOT_OFFERED_H_ */
