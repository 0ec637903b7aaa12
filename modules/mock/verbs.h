/* The commands of a script. */
#ifndef MOCK_VERBS_H_
#define MOCK_VERBS_H_
#include "script.h"

/* Splits off the leading duration, if there is one. NULL, or what is wrong with the rest. */
const char* verbs_check(const struct devices* devices, cage_str line, uint64_t* delay_ns, cage_str* command);

/* Executes a command that verbs_check() accepted. */
void verbs_run(struct script* script, cage_str command);

#endif /* MOCK_VERBS_H_ */
