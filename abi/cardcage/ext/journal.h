/* SPDX-License-Identifier: Apache-2.0 */
/* cage.edits.journal, offered by the host in prepare(): changes to undo. */
#include "../module.h"
#ifndef CARDCAGE_EXT_JOURNAL_H_
#define CARDCAGE_EXT_JOURNAL_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EDITS_JOURNAL "cage.edits.journal/1"

/* write: keeps the bytes, at most 64 KiB, for the next prepare() or unprepare() of the claim, which
 * gets them as cage_claim.journal even if this process or the daemon dies in between, but not after
 * a reboot [R7]. The last call counts. Blocks briefly. On the thread of the prepare() only. */
typedef struct cage_edits_journal {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*write)(cage_edits *, cage_bytes blob);
} cage_edits_journal;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_JOURNAL_H_ */
