/* SPDX-License-Identifier: Apache-2.0 */
/* cage.snapshot.policy, offered by the host in discover(): shares of a device. */
#include "../module.h"
#ifndef CARDCAGE_EXT_POLICY_H_
#define CARDCAGE_EXT_POLICY_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_SNAPSHOT_POLICY "cage.snapshot.policy/1"

/* The amounts of one capacity of a device with CAGE_DEVICE_SHARED that claims may consume (KEP-5075).
 * The names in the quantities are ignored. Some fractions need DRAFractionalCapacityRange (1.37). */
typedef struct cage_request_policy {
  uint32_t struct_size;
  uint32_t value_count;
  const cage_quantity *default_amount;  /* for requests without an amount; never NULL */
  const cage_quantity *values;     /* the only amounts, ascending, at most 10: a request consumes
                                      the first one that is enough */
  const cage_quantity *min, *max, *step;  /* or a range: a request consumes min and as many steps as
                                      it needs, at most max. NULL = none; max and step need min */
} cage_request_policy;

/* set: before or after device(), once for each capacity that has a policy. Without one a request
 * consumes the amount that it names, or the whole capacity. The host leaves out a device with a
 * policy that Kubernetes would refuse, and logs why. cage_alloc.consumed is the claim's share. */
typedef struct cage_snapshot_policy {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*set)(cage_snapshot *, cage_str device_id, cage_str capacity,
                     const cage_request_policy *);
} cage_snapshot_policy;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_POLICY_H_ */
