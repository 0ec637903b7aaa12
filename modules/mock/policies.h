/* Option `shared_capacity`: the amounts of shared devices that claims may consume (cage.snapshot.policy). */
#ifndef MOCK_POLICIES_H_
#define MOCK_POLICIES_H_
#include <cardcage/module.h>

enum { MAX_POLICIES = 8, MAX_AMOUNTS = 12 };

struct policy { /* "gpu memory 4Gi range 2Gi 16Gi 2Gi", "gpu slices 1 values 1 2 4" or "gpu memory 4Gi" */
  char kind[17], capacity[64];
  cage_quantity initial;
  cage_quantity values[MAX_AMOUNTS];
  uint32_t value_count;
  cage_quantity range[3]; /* min, max, step */
  uint32_t range_count;
};
struct policies {
  struct policy all[MAX_POLICIES];
  uint32_t count;
};

/* Reads the lines. Checks only their form, so the host refuses policies that make no sense. */
cage_status policies_read(const cage_call* call, const cage_values* options, struct policies* policies);

/* Reports the policies for a device of this kind. */
void policies_report(const struct policies* policies, cage_str device_id, const char* kind, cage_snapshot* snapshot,
                     const cage_snapshot_policy* family);

#endif /* MOCK_POLICIES_H_ */
