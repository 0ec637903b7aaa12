/* SPDX-License-Identifier: Apache-2.0 */
/* cage.sandbox, offered by a module: devices that enter a pod's network. A draft, which a later host
 * may replace by another revision (abi/STABILITY.md). */
#include "../module.h"
#ifndef CARDCAGE_EXT_SANDBOX_H_
#define CARDCAGE_EXT_SANDBOX_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_SANDBOX "cage.sandbox/1"

typedef struct cage_pod {          /* a pod whose sandbox exists */
  uint32_t struct_size;
  int32_t  network_namespace;      /* a descriptor of its network namespace, never that of the node */
  int32_t  route_socket;           /* a NETLINK_ROUTE socket in there, for modules that may not call
                                      setns(2). Both are open during the call: duplicate them */
  uint32_t reserved;
  cage_str uid, name_space, name;
  cage_str network_namespace_path; /* a path of the namespace on the node, for programs; empty if the
                                      container runtime did not report it */
} cage_pod;

/* attach: the claim is prepared, and a pod that it is reserved for has its sandbox: moves the devices
 * into it. Repeated for each container, when one restarts, and after failures. No container of
 * the pod that uses the claim starts before it has returned OK; runtimes wait for 2 s at most.
 * detach: the pod and then its sandbox end: takes the devices back. The host cannot call it for
 * every pod: unprepare(), which follows, finds the missing devices [R28].
 * The device-plugin API has neither: a CNI plugin moves the device to the pod. */
typedef struct cage_sandbox {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*attach)(cage_instance *, const cage_call *, const cage_claim *, const cage_pod *);
  cage_status (*detach)(cage_instance *, const cage_call *, const cage_claim *, const cage_pod *);
} cage_sandbox;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_SANDBOX_H_ */
