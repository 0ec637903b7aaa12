/* Events of the hardware, from options and from a file that people and tests append to. */
#ifndef MOCK_SCRIPT_H_
#define MOCK_SCRIPT_H_
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "devices.h"
#include "faults.h"

struct event { /* a line that is due later */
  struct event* next;
  uint64_t due_ns;
  char line[];
};
struct storm { /* health signals of the verb storm */
  uint64_t next_ns, end_ns, step_ns;
  uint64_t sent;
};
struct script {
  const cage_host* host;
  struct devices* devices;
  struct faults* faults;
  const char* path; /* "" = no file */
  const char* name; /* the last component of `path`, once the folder is watched */
  struct event* events;
  struct storm storm;
  pthread_t thread;
  bool running;
  bool quiet; /* health is recorded, and reported later */
  int stop_fd, watch_fd;
  off_t offset; /* offset of the first unread byte in the file `inode` */
  ino_t inode;
};

void script_init(struct script* script, const cage_host* host, struct devices* devices, struct faults* faults,
                 const char* path);
/* Sends this many signals per second for the duration. */
void script_storm(struct script* script, uint64_t rate, uint64_t duration_ns);
/* Checks and adds a line "[DURATION] VERB ..."; the duration counts from script_start(). */
cage_status script_add(struct script* script, const cage_call* call, cage_str line);
/* Starts the thread if there is anything to do. It executes the lines that the file already has, except `crash`; it
 * reports only the last health statement about each cause. */
cage_status script_start(struct script* script, const cage_call* call);
/* Ends and joins the thread. Idempotent. */
void script_stop(struct script* script);

#endif /* MOCK_SCRIPT_H_ */
