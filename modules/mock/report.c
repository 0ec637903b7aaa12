/* discover(): describes the devices to the host. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "health.h"
#include "text.h"

enum { MAX_ATTRS = 12 };
struct facts { /* about one device; lives on the stack, and the host's sink copies it */
  cage_attr attrs[MAX_ATTRS];
  uint32_t attr_count;
  cage_quantity capacity[2];
  uint32_t capacity_count;
  char text[2][32];
};

static void add_text(struct facts* facts, const char* name, uint32_t type, const char* value) {
  facts->attrs[facts->attr_count++] =
      (cage_attr){.name = text_of(name), .type = type, .count = 1, .v = {.s = text_of(value)}};
}
static void add_integer(struct facts* facts, const char* name, uint32_t type, int64_t value) {
  facts->attrs[facts->attr_count++] = (cage_attr){.name = text_of(name), .type = type, .count = 1, .v = {.i = value}};
}
static void add_capacity(struct facts* facts, const char* name, int64_t value, uint32_t format) {
  facts->capacity[facts->capacity_count++] = (cage_quantity){.name = text_of(name), .value = value, .format = format};
}

/* Partitions have equal shares of their gpu. */
static int64_t gpu_memory(const struct hardware* hardware, const struct device* gpu) {
  int64_t whole = (int64_t)hardware->gpu_memory_gib << 30;
  return gpu->parent == NULL ? whole : whole / gpu->parent->part_count;
}
static int64_t gpu_slices(const struct device* gpu) {
  return gpu->parent == NULL && gpu->part_count > 0 ? gpu->part_count : 1;
}

static void describe_gpu(struct facts* facts, const struct hardware* hardware, const struct device* gpu) {
  add_text(facts, "model", CAGE_ATTR_STRING, hardware->gpu_model);
  add_text(facts, "architecture", CAGE_ATTR_STRING, "Mockwell");
  add_text(facts, "driverVersion", CAGE_ATTR_VERSION, "580.65.6");
  add_text(facts, "computeCapability", CAGE_ATTR_VERSION, "9.0.0");
  if (gpu->parent != NULL) {
    snprintf(facts->text[0], sizeof facts->text[0], "1of%" PRIu32, gpu->parent->part_count);
    add_text(facts, "profile", CAGE_ATTR_STRING, facts->text[0]);
    add_text(facts, "parentUUID", CAGE_ATTR_STRING, gpu->parent->uuid);
  }
  add_capacity(facts, "memory", gpu_memory(hardware, gpu), CAGE_QTY_BINARY);
  add_capacity(facts, "slices", gpu_slices(gpu), CAGE_QTY_DECIMAL);
}

static void describe_fpga(struct facts* facts, const struct hardware* hardware, const struct device* fpga) {
  snprintf(facts->text[0], sizeof facts->text[0], "d5%02" PRIx32, fpga->index & 0xff);
  add_text(facts, "model", CAGE_ATTR_STRING, hardware->fpga_model);
  add_text(facts, "region", CAGE_ATTR_STRING, facts->text[0]);
  add_text(facts, "shellId", CAGE_ATTR_STRING, "9926ab6d-6c92-5a68-aabc-a7d84c545738");
  add_text(facts, "shellVersion", CAGE_ATTR_VERSION, "2.1.0");
  add_capacity(facts, "memory", (int64_t)16 << 30, CAGE_QTY_BINARY);
}

static void describe_nic(struct facts* facts, const struct hardware* hardware, const struct device* nic) {
  uint64_t hash = text_hash(TEXT_HASH_START, text_of(nic->uuid));
  snprintf(facts->text[0], sizeof facts->text[0], "02:%02x:%02x:%02x:%02x:%02x", (unsigned)(hash & 0xff),
           (unsigned)(hash >> 8 & 0xff), (unsigned)(hash >> 16 & 0xff), (unsigned)(hash >> 24 & 0xff),
           (unsigned)(hash >> 32 & 0xff));
  add_text(facts, "model", CAGE_ATTR_STRING, hardware->nic_model);
  add_text(facts, "mac", CAGE_ATTR_STRING, facts->text[0]);
  add_integer(facts, "linkSpeed", CAGE_ATTR_INT, hardware->nic_speed_gbps);
  add_integer(facts, "rdma", CAGE_ATTR_BOOL, 1);
  add_capacity(facts, "bandwidth", (int64_t)hardware->nic_speed_gbps * 1000000000, CAGE_QTY_DECIMAL);
}

static void report_device(const struct devices* devices, const struct device* device, cage_snapshot* snapshot) {
  struct facts facts = {.attr_count = 0};
  add_text(&facts, "uuid", CAGE_ATTR_STRING, device->uuid);
  add_integer(&facts, "index", CAGE_ATTR_INT, device->index);
  if (strcmp(device->kind, "gpu") == 0) describe_gpu(&facts, devices->hardware, device);
  if (strcmp(device->kind, "fpga") == 0) describe_fpga(&facts, devices->hardware, device);
  if (strcmp(device->kind, "nic") == 0) describe_nic(&facts, devices->hardware, device);
  cage_health health = health_of(device, statement_about(device, text_of("")));
  cage_device report = {.struct_size = sizeof report,
                        .flags = devices->hardware->shared ? CAGE_DEVICE_SHARED : 0,
                        .id = text_of(device->id),
                        .kind = text_of(device->kind),
                        .parent_id = text_of(device->parent != NULL ? device->parent->id : ""),
                        .pci_bus_id = text_of(device->pci),
                        .numa_nodes = &device->socket,
                        .numa_count = 1,
                        .attrs = facts.attrs,
                        .attr_count = facts.attr_count,
                        .capacity = facts.capacity,
                        .capacity_count = facts.capacity_count,
                        .health = &health,
                        .name = text_of(device->name)};
  snapshot->device(snapshot, &report); /* the host leaves out and logs a device that it refuses */
}

static bool is_offered(const struct hardware* hardware, const struct device* device) {
  return !hardware->partitions_only || device->part_count == 0;
}

/* A gpu and its partitions share a counter set, so the scheduler never allocates more than the gpu has (KEP-4815). */
static cage_status report_counters(const struct devices* devices, const struct device* device, cage_snapshot* snapshot,
                                   const cage_snapshot_counters* counters) {
  const struct device* gpu = device->parent != NULL ? device->parent : device;
  cage_quantity amounts[] = {
      {.name = CAGE_LIT("memory"), .value = gpu_memory(devices->hardware, device), .format = CAGE_QTY_BINARY},
      {.name = CAGE_LIT("slices"), .value = gpu_slices(device), .format = CAGE_QTY_DECIMAL}};
  if (gpu == device) {
    cage_status status = counters->set(snapshot, text_of(gpu->id), amounts, 2);
    if (status != CAGE_OK || !is_offered(devices->hardware, gpu)) return status;
  }
  return counters->consumes(snapshot, text_of(device->id), text_of(gpu->id), amounts, 2);
}

cage_status devices_report(struct devices* devices, const cage_call* call, cage_snapshot* snapshot) {
  const cage_snapshot_counters* counters = snapshot->extension(snapshot, CAGE_SNAPSHOT_COUNTERS);
  if (devices->hardware->partitions > 0 && counters == NULL) {
    return refuse(call, CAGE_FAILED_PRECONDITION,
                  "partitions need a host with %s, or the same gpu could be allocated twice; set 'partitions' to 0",
                  CAGE_SNAPSHOT_COUNTERS);
  }
  const cage_snapshot_policy* policy = snapshot->extension(snapshot, CAGE_SNAPSHOT_POLICY);
  if (devices->hardware->policies.count > 0 && policy == NULL) {
    return refuse(call, CAGE_FAILED_PRECONDITION,
                  "policies need a host with %s, or claims could consume any amount; set 'shared_capacity' to []",
                  CAGE_SNAPSHOT_POLICY);
  }
  const cage_snapshot_binding* binding = snapshot->extension(snapshot, CAGE_SNAPSHOT_BINDING);
  if (devices->hardware->bindings.kind_count > 0 && binding == NULL) {
    return refuse(call, CAGE_FAILED_PRECONDITION,
                  "bindings need a host with %s, or pods would get devices that are not attached; set 'binding' to []",
                  CAGE_SNAPSHOT_BINDING);
  }
  const cage_snapshot_not_offered* not_offered = snapshot->extension(snapshot, CAGE_SNAPSHOT_NOT_OFFERED);
  cage_status status = CAGE_OK;
  pthread_mutex_lock(&devices->lock);
  for (uint32_t i = 0; i < devices->count && status == CAGE_OK; ++i) {
    const struct device* device = &devices->all[i];
    if (!device->present) continue;
    if (is_offered(devices->hardware, device)) {
      report_device(devices, device, snapshot);
      policies_report(&devices->hardware->policies, text_of(device->id), device->kind, snapshot, policy);
      bindings_report(&devices->hardware->bindings, text_of(device->id), device->kind, snapshot, binding);
    } else if (not_offered != NULL) {
      not_offered->add(snapshot, text_of(device->id), text_of("option 'partitions_only' offers only its partitions"));
    }
    if (device->part_count > 0 || device->parent != NULL) status = report_counters(devices, device, snapshot, counters);
  }
  pthread_mutex_unlock(&devices->lock);
  return status;
}
