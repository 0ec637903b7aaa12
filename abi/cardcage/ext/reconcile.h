/* SPDX-License-Identifier: Apache-2.0 */
/* cage.reconcile, offered by a module: after a start, frees everything that no claim holds. */
#include "../module.h"
#ifndef CARDCAGE_EXT_RECONCILE_H_
#define CARDCAGE_EXT_RECONCILE_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_RECONCILE "cage.reconcile/1"

/* keep: `live` has all prepared claims. Frees what belongs to none of them. Follows the first discover()
 * of each start, and resume(). */
typedef struct cage_reconcile {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*keep)(cage_instance *, const cage_call *, const cage_claim *const *live,
                      uint32_t live_count);
} cage_reconcile;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_RECONCILE_H_ */
