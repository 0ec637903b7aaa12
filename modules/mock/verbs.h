/* The commands of a script line. */
#ifndef MOCK_VERBS_H_
#define MOCK_VERBS_H_
#include "script.h"

/* Splits off the leading duration, if any. Returns NULL, or the mistake in the rest of the line. */
const char* verbs_check(const struct devices* devices, cage_str line, uint64_t* delay_ns, cage_str* command);

/* Executes a command that verbs_check() accepted. */
void verbs_run(struct script* script, cage_str command);

#endif /* MOCK_VERBS_H_ */
