/* The claim that holds each device: the state of the hardware. With mount_dir it outlives the module, like the state
 * of real hardware: each hold is a file there, and a hold that is never released stays visible. */
#ifndef MOCK_HOLDS_H_
#define MOCK_HOLDS_H_
#include "devices.h"

enum { MAX_UID = 128 };

struct holds {
  const char* folder;   /* "" = none */
  int fd;               /* the open folder, -1 = none */
  pthread_mutex_t lock; /* for overlapping calls: held around the functions below that name a device */
};

void holds_init(struct holds* holds);
void holds_free(struct holds* holds);
/* Creates the folder if necessary and adopts the holds that a previous instance left there. */
cage_status holds_open(struct holds* holds, const char* folder, struct devices* devices, const cage_call* call);
/* Closes the folder while the hardware is quiesced; until holds_reopen() nothing can be released. */
void holds_suspend(struct holds* holds);
cage_status holds_reopen(struct holds* holds, const cage_call* call);

/* Fails with FAILED_PRECONDITION if another claim holds the device, its gpu or one of its partitions. */
cage_status holds_free_for(const struct devices* devices, const struct device* device, const char* claim,
                           const cage_call* call);
/* Idempotent. The new hold is fresh until holds_settle(). */
cage_status holds_take(struct holds* holds, struct device* device, const char* claim, cage_str claim_name,
                       const cage_call* call);
/* Idempotent. */
cage_status holds_release(struct holds* holds, struct device* device, const char* claim, const cage_call* call);
/* Appends a line "start" to the device's file, as the trace of a reset before the start of a container. */
cage_status holds_mark_start(const struct holds* holds, const struct device* device, const char* claim,
                             const cage_call* call);
/* Returns the time for which the claim has been bound to its device: 0 at the first call. */
uint64_t holds_bound_for(struct device* device, const char* claim);
bool holds_was_bound(const struct device* device, const char* claim);
bool holds_fresh(const struct device* device, const char* claim);
void holds_settle(struct device* device, const char* claim);

/* Returns the host path of the hold's file. */
void holds_path(const struct holds* holds, const struct device* device, const char* claim, char* path, size_t room);

#endif /* MOCK_HOLDS_H_ */
