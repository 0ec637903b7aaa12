/* Who has which device: the state of the hardware. It outlives the module, as real hardware's does, when mount_dir
 * keeps one file per hold; what is forgotten to be freed shows there. */
#ifndef MOCK_HOLDS_H_
#define MOCK_HOLDS_H_
#include "devices.h"

enum { MAX_UID = 128 };

struct holds {
  const char* folder; /* "" = none */
  int fd;             /* of the folder, -1 = none */
};

void holds_init(struct holds* holds);
/* Makes the folder if need be and takes over the holds that a former instance left there. */
cage_status holds_open(struct holds* holds, const char* folder, struct devices* devices, const cage_call* call);
void holds_close(struct holds* holds);
/* While the hardware is quiesced the folder is not open, and nothing can be released. */
void holds_let_go(struct holds* holds);
cage_status holds_take_back(struct holds* holds, const cage_call* call);

/* FAILED_PRECONDITION if another claim has the device, its gpu or one of its partitions. */
cage_status holds_free_for(const struct devices* devices, const struct device* device, const char* claim,
                           const cage_call* call);
/* Idempotent. The new hold is fresh until holds_settle(). */
cage_status holds_take(struct holds* holds, struct device* device, const char* claim, cage_str claim_name,
                       const cage_call* call);
/* Idempotent. */
cage_status holds_release(struct holds* holds, struct device* device, const char* claim, const cage_call* call);
/* The device is as new for a container that starts: a line "start" more in its file. */
cage_status holds_mark_start(const struct holds* holds, const struct device* device, const char* claim,
                             const cage_call* call);
bool holds_fresh(const struct device* device, const char* claim);
void holds_settle(struct device* device, const char* claim);

/* Path on the host of the file that shows the hold. */
void holds_path(const struct holds* holds, const struct device* device, const char* claim, char* path, size_t room);

#endif /* MOCK_HOLDS_H_ */
