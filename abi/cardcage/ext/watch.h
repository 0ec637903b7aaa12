/* SPDX-License-Identifier: Apache-2.0 */
/* cage.watch, offered by a module: the host wakes it when something happens. */
#include "../module.h"
#ifndef CARDCAGE_EXT_WATCH_H_
#define CARDCAGE_EXT_WATCH_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_WATCH "cage.watch/1"

enum { CAGE_EVENT_KERNEL_LOG = 1, CAGE_EVENT_UEVENT = 2, CAGE_EVENT_DESCRIPTOR = 3 };
typedef struct cage_event {
  uint32_t struct_size;
  uint32_t type;
  uint64_t time_ns;                /* when it happened */
  cage_str text;                   /* KERNEL_LOG: the message, "NVRM: Xid (PCI:0000:3b:00): 79".
                                      UEVENT: lines, "ACTION=change\nDEVPATH=/devices/...\n..." */
  int32_t  descriptor;             /* DESCRIPTOR: which one; others: -1 */
  uint32_t reserved;
} cage_event;

enum { CAGE_EVENTS_LOST = 1u << 0 };  /* some before these were dropped: check the hardware */

/* events: the events since the last call, oldest first, with flags. There may be none, just
 * flags. The daemon watches for all modules, so that they need no privilege. [R20] */
typedef struct cage_watch {        /* static const storage in the module */
  uint32_t struct_size;
  uint32_t reserved;
  const cage_str *kernel_log;      /* beginnings of kernel messages: "NVRM: Xid"; at most 32 */
  const cage_str *uevents;         /* subsystems: "pci"; at most 32 */
  uint32_t kernel_log_count;
  uint32_t uevent_count;
  cage_status (*events)(cage_instance *, const cage_call *, const cage_event *const *events,
                        uint32_t count, uint32_t flags);
} cage_watch;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_WATCH_H_ */
