/* SPDX-License-Identifier: Apache-2.0 */
/* cage.reset, offered by a module: heals a device. */
#include "../module.h"
#ifndef CARDCAGE_EXT_RESET_H_
#define CARDCAGE_EXT_RESET_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_RESET "cage.reset/1"

/* reset: resets the hardware of this device, and of all its partitions, and states its causes
 * again before it returns OK. No claim holds any of them, unless an operator forces it. UNIMPLEMENTED:
 * this device cannot be reset [R24]. */
typedef struct cage_reset {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*reset)(cage_instance *, const cage_call *, cage_str device_id);
} cage_reset;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_RESET_H_ */
