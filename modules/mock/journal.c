/* cage.edits.journal: records each claim that is about to be prepared, as a real module records its undo steps. */
#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "text.h"

enum { MAX_NOTE = MAX_UID + 16 };

static void note_of(const char* uid, char* note) { snprintf(note, MAX_NOTE, "preparing %s", uid); }

cage_status mock_journal_write(const cage_instance* mock, const cage_call* call, const cage_claim* claim,
                               const char* uid, cage_edits* edits) {
  if (!mock->settings.journal) return CAGE_OK;
  const cage_edits_journal* journal = edits->extension(edits, CAGE_EDITS_JOURNAL);
  if (journal == NULL) return refuse(call, CAGE_FAILED_PRECONDITION, "the host has no " CAGE_EDITS_JOURNAL);
  if (claim->journal.size > 0) {
    log_line(mock->host, CAGE_LOG_INFO, "its journal came back: '%.*s'", (int)claim->journal.size,
             (const char*)claim->journal.data);
  }
  char note[MAX_NOTE];
  note_of(uid, note);
  return journal->write(edits, (cage_bytes){note, strlen(note)});
}

cage_status mock_journal_check(const cage_instance* mock, const cage_call* call, const cage_claim* claim,
                               const char* uid) {
  if (!mock->settings.journal || claim->state.size == 0) return CAGE_OK;
  char note[MAX_NOTE];
  note_of(uid, note);
  if (claim->journal.size == strlen(note) && memcmp(claim->journal.data, note, claim->journal.size) == 0) {
    return CAGE_OK;
  }
  return refuse(call, CAGE_INTERNAL, "the journal of claim %s is not the one that its prepare wrote", uid);
}
