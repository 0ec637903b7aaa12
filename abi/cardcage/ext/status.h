/* SPDX-License-Identifier: Apache-2.0 */
/* cage.edits.status, offered by the host in prepare(): status for users. */
#include "../module.h"
#ifndef CARDCAGE_EXT_STATUS_H_
#define CARDCAGE_EXT_STATUS_H_
#include "condition.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EDITS_STATUS "cage.edits.status/1"

typedef struct cage_network_data {
  uint32_t struct_size;
  uint32_t ip_count;
  cage_str interface_name;         /* in the pod; at most 256 bytes */
  cage_str hardware_address;       /* at most 128 bytes */
  const cage_str *ips;             /* with the length of the prefix, "10.1.2.3/24"; at most 16 */
} cage_network_data;

/* The entry of a device in ResourceClaim.status.devices (KEP-4817). The host writes it after
 * prepare(), which does not wait for it, and removes it after unprepare(). `alloc` is an index. The
 * last call counts, for condition() that of each type. data: a JSON object of at most 10 KiB. With
 * the device-plugin API no claim can show it. */
typedef struct cage_edits_status {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*condition)(cage_edits *, int32_t alloc, const cage_condition *);
  cage_status (*data)(cage_edits *, int32_t alloc, cage_str json);
  cage_status (*network)(cage_edits *, int32_t alloc, const cage_network_data *);
} cage_edits_status;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_STATUS_H_ */
