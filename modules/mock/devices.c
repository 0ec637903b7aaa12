#include "devices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void devices_init(struct devices* devices) {
  memset(devices, 0, sizeof *devices);
  pthread_mutex_init(&devices->lock, NULL);
}

/* Makes uuid and id from the name. */
static void identify(struct device* device, const struct hardware* hardware) {
  uint64_t high = text_hash(text_hash(TEXT_HASH_START, text_of(hardware->seed)), text_of(device->name));
  uint64_t low = text_hash(high, text_of("uuid"));
  char kind[sizeof device->kind];
  for (size_t i = 0; i < sizeof kind; ++i) {
    char c = device->kind[i];
    kind[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  snprintf(device->uuid, sizeof device->uuid,
           "%s-%08" PRIx32 "-%04" PRIx32 "-4%03" PRIx32 "-8%03" PRIx32 "-%012" PRIx64, kind, (uint32_t)(high >> 32),
           (uint32_t)(high >> 16) & 0xffff, (uint32_t)high & 0xfff, (uint32_t)(low >> 48) & 0xfff,
           low & 0xffffffffffffu);
  snprintf(device->id, sizeof device->id, "%s", hardware->uuid_ids ? device->uuid : device->name);
}

/* Gives each device a PCI bus of its own, in the range of its socket. No real machine has this PCI domain, so the
 * host cannot confuse the device with a real one. */
static void place(struct device* device, const struct hardware* hardware, uint32_t count, uint32_t* used) {
  uint32_t socket = (uint32_t)((uint64_t)device->index * hardware->sockets / count);
  uint32_t span = 256 / hardware->sockets, slot = used[socket]++;
  device->socket = (int32_t)socket;
  snprintf(device->pci, sizeof device->pci, "%04x:%02x:00.0", (0x4d00u + slot / (span - 1)) & 0xffffu,
           (socket * span + 1 + slot % (span - 1)) & 0xffu);
}

static int compare_ids(const void* a, const void* b) {
  return strcmp((*(struct device* const*)a)->id, (*(struct device* const*)b)->id);
}

static uint32_t parts_of(const struct hardware* hardware, const struct device_group* group) {
  return strcmp(group->kind, "gpu") == 0 ? hardware->partitions : 0;
}

static void make_part(struct device* part, const struct device* whole, uint32_t index,
                      const struct hardware* hardware) {
  *part = *whole;
  part->parent = whole;
  part->part_count = 0;
  part->index = index;
  snprintf(part->name, sizeof part->name, "%.16s-%" PRIu32 "-part-%" PRIu32, whole->kind, whole->index, index);
  identify(part, hardware);
}

static void make_group(struct devices* devices, const struct hardware* hardware, const struct device_group* group,
                       uint32_t* used) {
  uint32_t found =
      hardware->slot_count != 0 && hardware->slot_count < group->count ? hardware->slot_count : group->count;
  for (uint32_t i = 0; i < found; ++i) {
    struct device* whole = &devices->all[devices->count++];
    memcpy(whole->kind, group->kind, sizeof whole->kind);
    snprintf(whole->name, sizeof whole->name, "%s-%" PRIu32, group->kind,
             i < hardware->slot_count ? hardware->slots[i] : i);
    whole->index = i;
    whole->present = true;
    whole->part_count = parts_of(hardware, group);
    identify(whole, hardware); /* by slot, so that the card keeps its identity when the kernel renumbers it */
    snprintf(whole->name, sizeof whole->name, "%s-%" PRIu32, group->kind, i);
    place(whole, hardware, group->count, used);
    for (uint32_t part = 0; part < whole->part_count; ++part) {
      make_part(&devices->all[devices->count++], whole, part, hardware);
    }
  }
}

cage_status devices_make(struct devices* devices, const struct hardware* hardware, const cage_call* call) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < hardware->group_count; ++i) {
    total += (uint64_t)hardware->groups[i].count * (1 + parts_of(hardware, &hardware->groups[i]));
  }
  if (total > MAX_DEVICES) {
    return refuse(call, CAGE_INVALID_ARGUMENT,
                  "the options ask for %" PRIu64 " devices, partitions included; at most %d are possible", total,
                  MAX_DEVICES);
  }
  devices->hardware = hardware;
  devices->all = calloc(total + 1, sizeof *devices->all);
  devices->by_id = (struct device**)calloc(total + 1, sizeof *devices->by_id);
  if (devices->all == NULL || devices->by_id == NULL) return refuse(call, CAGE_RESOURCE_EXHAUSTED, "out of memory");
  uint32_t used[MAX_SOCKETS] = {0};
  for (uint32_t i = 0; i < hardware->group_count; ++i) make_group(devices, hardware, &hardware->groups[i], used);
  for (uint32_t i = 0; i < devices->count; ++i) devices->by_id[i] = &devices->all[i];
  qsort((void*)devices->by_id, devices->count, sizeof *devices->by_id, compare_ids);
  return CAGE_OK;
}

void devices_free(struct devices* devices) {
  for (uint32_t i = 0; i < devices->count; ++i) {
    struct device* device = &devices->all[i];
    devices_forget_health(device);
    while (device->holders != NULL) {
      struct holder* next = device->holders->next;
      free(device->holders);
      device->holders = next;
    }
  }
  free((void*)devices->by_id);
  free(devices->all);
  pthread_mutex_destroy(&devices->lock);
}

struct device* devices_find(const struct devices* devices, cage_str id) {
  struct device wanted, *key = &wanted;
  if (devices->count == 0 || !text_copy(wanted.id, sizeof wanted.id, id)) return NULL;
  struct device** found = (struct device**)bsearch((const void*)&key, (const void*)devices->by_id, devices->count,
                                                   sizeof *devices->by_id, compare_ids);
  return found == NULL ? NULL : *found;
}

bool devices_present(struct devices* devices, const struct device* device) {
  pthread_mutex_lock(&devices->lock);
  bool present = device->present;
  pthread_mutex_unlock(&devices->lock);
  return present;
}

bool devices_plug(struct devices* devices, struct device* device, bool present) {
  pthread_mutex_lock(&devices->lock);
  bool changed = device->present != present;
  for (uint32_t i = 0; i <= device->part_count; ++i) device[i].present = present;
  pthread_mutex_unlock(&devices->lock);
  return changed;
}
