/* SPDX-License-Identifier: Apache-2.0 */
/* cage.snapshot.counters, offered by the host in discover(): counters that partitions share. */
#include "../module.h"
#ifndef CARDCAGE_EXT_COUNTERS_H_
#define CARDCAGE_EXT_COUNTERS_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_SNAPSHOT_COUNTERS "cage.snapshot.counters/1"

/* set: amounts that several devices draw on, such as the memory of a card with partitions (KEP-4815).
 * consumes: the amounts of a set that are taken while the device is allocated. */
typedef struct cage_snapshot_counters {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*set)(cage_snapshot *, cage_str set_name, const cage_quantity *, uint32_t count);
  cage_status (*consumes)(cage_snapshot *, cage_str device_id, cage_str set_name,
                          const cage_quantity *, uint32_t count);
} cage_snapshot_counters;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_COUNTERS_H_ */
