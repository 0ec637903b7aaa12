/* SPDX-License-Identifier: Apache-2.0 */
/* cage.service, offered by the host: keeps a helper daemon running for a claim. */
#include "../module.h"
#ifndef CARDCAGE_EXT_SERVICE_H_
#define CARDCAGE_EXT_SERVICE_H_
#include "exec.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_HOST_SERVICE "cage.service/1"

/* Both block, and belong to the claim of `call`. OK = done; otherwise the host has explained why.
 * start: the daemon runs the command, without timeout_ms and input, as cage_exec does, but until the
 *   claim is released: it outlives this process and the daemon, is started again if it exits, and what it
 *   prints goes to the log. It stays in the foreground. If the service runs already with the same
 *   command, nothing happens; with another one, it ends first. `name` is a DNS label.
 * stop: SIGTERM to the program, SIGKILL to all that is left after 5 s. OK if there is none. After
 *   unprepare(), the host stops every service of the claim [R21]. */
typedef struct cage_service {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*start)(const cage_host *, const cage_call *, cage_str name, const cage_command *);
  cage_status (*stop)(const cage_host *, const cage_call *, cage_str name);
} cage_service;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_SERVICE_H_ */
