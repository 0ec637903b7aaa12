/* SPDX-License-Identifier: Apache-2.0 */
/* cage.quiesce, offered by a module: releases devices one by one. */
#include "../module.h"
#ifndef CARDCAGE_EXT_QUIESCE_H_
#define CARDCAGE_EXT_QUIESCE_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_QUIESCE "cage.quiesce/1"

/* As quiesce and resume of cage_module, but for this device and its partitions; the others continue.
 * The host may repeat both, also for a device that is gone. Unless they return OK, the device stays
 * as it was. A new instance, or one that resumed, may get quiesce right after its discover(). */
typedef struct cage_quiesce {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*quiesce)(cage_instance *, const cage_call *, cage_str device_id);
  cage_status (*resume)(cage_instance *, const cage_call *, cage_str device_id);
} cage_quiesce;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_QUIESCE_H_ */
