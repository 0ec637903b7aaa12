/* SPDX-License-Identifier: Apache-2.0 */
/* cage.exec, offered by the host: runs a program of the node. */
#include "../module.h"
#ifndef CARDCAGE_EXT_EXEC_H_
#define CARDCAGE_EXT_EXEC_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_HOST_EXEC "cage.exec/1"

typedef struct cage_command {
  uint32_t struct_size;
  uint32_t timeout_ms;             /* 0 = until the deadline of the call */
  cage_str program;                /* "nvidia-smi": the name of a file whose path is in the key
                                      `programs` of the module's configuration */
  const cage_str *args; const cage_str *env; uint32_t arg_count; uint32_t env_count;
                                   /* without the name; "NAME=value", all but PATH, which the host
                                      sets. At most 1024 each, 128 KiB together */
  cage_bytes input;                /* its standard input, within these 128 KiB */
} cage_command;

enum { CAGE_COMMAND_TIMED_OUT = 1u << 0,  /* it was killed */
       CAGE_COMMAND_CUT = 1u << 1 };      /* `out` or `err` was longer than 1 MiB */
typedef struct cage_command_result {
  uint32_t struct_size;
  uint32_t flags;
  int32_t  exit_status;            /* -1 if a signal ended it */
  int32_t  signal;                 /* 0 if none */
  cage_bytes out, err;             /* its printed output */
} cage_command_result;

typedef void (*cage_command_ended)(void *user, const cage_command_result *);

/* run: blocks until the program has ended. OK if it has, whatever its status; `ended` was then
 * called once on this thread, with `user`. Otherwise the host has explained why, and it may have
 * run. The daemon runs it with its own rights and no other descriptor; when it ends, at the limit or
 * with the instance, what is left of it is killed. On the thread of `call` only. */
typedef struct cage_exec {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*run)(const cage_host *, const cage_call *, const cage_command *, void *user,
                     cage_command_ended ended);
} cage_exec;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_EXEC_H_ */
