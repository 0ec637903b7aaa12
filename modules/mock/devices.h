/* The simulated devices: their identities, places, health and holders. */
#ifndef MOCK_DEVICES_H_
#define MOCK_DEVICES_H_
#include <cardcage/module.h>
#include <pthread.h>
#include <stdbool.h>

#include "bindings.h"
#include "policies.h"

enum { MAX_DEVICES = 10000, MAX_SOCKETS = 8, MAX_PARTITIONS = 8, MAX_KINDS = 16, MAX_SLOTS = 64 };

struct device_group { /* "gpu:8" */
  char kind[17];
  uint32_t count;
};
struct hardware { /* set by the options; devices_make() builds it */
  struct device_group groups[MAX_KINDS];
  uint32_t group_count;
  uint32_t
      slots[MAX_SLOTS]; /* slots of the cards that the kernel has found, in its order; the first card is number 0 */
  uint32_t slot_count;  /* 0 = all of them, in order */
  char gpu_model[64], fpga_model[64], nic_model[64];
  uint32_t gpu_memory_gib, nic_speed_gbps;
  uint32_t sockets, partitions; /* partitions per gpu, 0 = none */
  bool shared, uuid_ids, partitions_only;
  char seed[64];
  struct policies policies;
  struct bindings bindings;
};

struct holder { /* a claim that has the device prepared */
  struct holder* next;
  bool fresh;        /* taken by the current prepare() */
  uint64_t bound_ns; /* when bind() first found it, 0 = never */
  char claim[];      /* uid */
};
struct statement { /* about one cause of a device's health */
  struct statement* next;
  uint32_t state, taint;
  char *cause, *reason, *message, *taint_key, *taint_value;
  double value;
  uint32_t has_value;
};
struct device {
  char id[56], name[40], uuid[56], pci[16], kind[17];
  uint32_t index; /* within its kind, or within its gpu for a partition */
  int32_t socket;
  const struct device* parent; /* NULL unless this is a partition */
  uint32_t part_count;         /* partitions follow their gpu in `all` */
  struct holder* holders;      /* guarded by holds.lock */
  bool quiesced;               /* quiesced on its own; changes while no other call runs [R8] */
  uint32_t resets;             /* resets since the start; changes as `quiesced` */
  /* Guarded by devices.lock, because the script changes them: */
  bool present;
  struct statement* health; /* the last statement about each cause; none = healthy */
};
struct devices {
  const struct hardware* hardware;
  struct device* all;
  struct device** by_id; /* sorted */
  uint32_t count;
  pthread_mutex_t lock;
};

void devices_init(struct devices* devices);
cage_status devices_make(struct devices* devices, const struct hardware* hardware, const cage_call* call);
void devices_free(struct devices* devices);

struct device* devices_find(const struct devices* devices, cage_str id);
bool devices_present(struct devices* devices, const struct device* device);
/* Plugs the device in or unplugs it, with its partitions. Returns false if nothing changed. */
bool devices_plug(struct devices* devices, struct device* device, bool present);
/* Keeps the statement and reports it to the host, if there is one; its device is ignored. Returns false if memory is
 * out. */
bool devices_state_health(struct devices* devices, struct device* device, const cage_health* health,
                          const cage_host* host);
/* Reports every statement about the device to the host. */
void devices_tell_health(struct devices* devices, const struct device* device, const cage_host* host);
/* States the end of each cause that was stated before. */
void devices_heal(struct devices* devices, struct device* device, const cage_host* host);
void devices_forget_health(struct device* device);

/* Reports every present device, its request policies and binding conditions and, for gpus with partitions, their
 * counters. */
cage_status devices_report(struct devices* devices, const cage_call* call, cage_snapshot* snapshot);

#endif /* MOCK_DEVICES_H_ */
