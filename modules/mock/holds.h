/* Which claim holds which device: the state of the hardware. With mount_dir it outlives the module, as the state of
 * real hardware does: each hold is a file there, and a hold that nobody releases stays visible. */
#ifndef MOCK_HOLDS_H_
#define MOCK_HOLDS_H_
#include "devices.h"

enum { MAX_UID = 128 };

struct holds {
  const char* folder;   /* "" = none */
  int fd;               /* the open folder, -1 = none */
  pthread_mutex_t lock; /* for calls that may overlap: held around those below that name a device */
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
/* Appends a line "start" to the device's file, as a reset before the start of a container would leave a trace. */
cage_status holds_mark_start(const struct holds* holds, const struct device* device, const char* claim,
                             const cage_call* call);
/* For how long the claim has been bound to the device that it holds: 0 at the first call. */
uint64_t holds_bound_for(struct device* device, const char* claim);
bool holds_was_bound(const struct device* device, const char* claim);
bool holds_fresh(const struct device* device, const char* claim);
void holds_settle(struct device* device, const char* claim);

/* The host path of the file that stands for the hold. */
void holds_path(const struct holds* holds, const struct device* device, const char* claim, char* path, size_t room);

#endif /* MOCK_HOLDS_H_ */
