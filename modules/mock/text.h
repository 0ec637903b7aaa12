/* Helpers for parsing options and for reporting failures. */
#ifndef MOCK_TEXT_H_
#define MOCK_TEXT_H_
#include <cardcage/module.h>
#include <stdbool.h>

cage_str text_of(const char* literal);
bool text_is(cage_str text, const char* literal);

/* Copies the text and a NUL. Returns false, with `to` empty, if it does not fit. */
bool text_copy(char* to, size_t room, cage_str from);

/* Splits the next word off *rest at spaces and tabs; returns an empty word at the end. */
cage_str text_word(cage_str* rest);

/* Reads a number of digits only, at most `max`. */
bool text_number(cage_str text, uint32_t max, uint32_t* number);

/* Reads whole numbers with units: "250ms", "2s", "1m30s". */
bool text_duration(cage_str text, uint64_t* nanoseconds);

/* Reads a quantity of Kubernetes that is a whole number with m, k, M, G, Ki, Mi, Gi or no suffix: "4Gi". */
bool text_amount(cage_str text, cage_quantity* amount);

/* FNV-1a, for identities that look random and are the same at every start. */
uint64_t text_hash(uint64_t hash, cage_str text);
#define TEXT_HASH_START 0xcbf29ce484222325u

/* Explains the failure of a call and returns `status`. */
__attribute__((format(printf, 3, 4))) cage_status refuse(const cage_call* call, cage_status status, const char* format,
                                                         ...);

/* Writes a line to the host's log. */
__attribute__((format(printf, 3, 4))) void log_line(const cage_host* host, uint32_t level, const char* format, ...);

#endif /* MOCK_TEXT_H_ */
