/* Words and messages: what C lacks for reading options and for saying why something failed. */
#ifndef MOCK_TEXT_H_
#define MOCK_TEXT_H_
#include <cardcage/module.h>
#include <stdbool.h>

cage_str text_of(const char* literal);
bool text_is(cage_str text, const char* literal);

/* Copies with a NUL; false, and `to` is empty, if it does not fit. */
bool text_copy(char* to, size_t room, cage_str from);

/* The next word, split off *rest at spaces and tabs; empty at the end. */
cage_str text_word(cage_str* rest);

/* All digits, at most `max`. */
bool text_number(cage_str text, uint32_t max, uint32_t* number);

/* Whole numbers with units: "250ms", "2s", "1m30s". */
bool text_duration(cage_str text, uint64_t* nanoseconds);

/* FNV-1a, to make identities that look random and are the same at every start. */
uint64_t text_hash(uint64_t hash, cage_str text);
#define TEXT_HASH_START 0xcbf29ce484222325u

/* Explains the failure of a call and returns `status`. */
__attribute__((format(printf, 3, 4))) cage_status refuse(const cage_call* call, cage_status status, const char* format,
                                                         ...);

/* One line of the host's log. */
__attribute__((format(printf, 3, 4))) void say(const cage_host* host, uint32_t level, const char* format, ...);

#endif /* MOCK_TEXT_H_ */
