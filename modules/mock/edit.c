/* The container edits of one device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "text.h"

enum { MAX_KEY = 128 };

/* Turns "gpu-0-part-1" into MOCK_GPU_0_PART_1, followed by _SUFFIX unless the suffix is empty. */
static cage_str key_of(char* to, const struct device* device, const char* suffix) {
  snprintf(to, MAX_KEY, "MOCK_%s%s%s", device->id, suffix[0] != '\0' ? "_" : "", suffix);
  for (char* c = to; *c != '\0'; ++c) {
    if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    bool good = (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (!good) *c = '_';
  }
  return text_of(to);
}

static cage_status add_env(cage_edits* edits, int32_t index, const struct device* device, const char* suffix,
                           cage_str value) {
  char key[MAX_KEY];
  return edits->env(edits, index, key_of(key, device, suffix), value);
}

cage_status mock_list_env(cage_edits* edits, int32_t index, cage_str name, cage_str value) {
  return CAGE_CAN(edits, env_list) ? edits->env_list(edits, index, name, value) : edits->env(edits, index, name, value);
}

/* A claim may have several shares of the device. */
static cage_status add_of_share(cage_edits* edits, int32_t index, const struct device* device, const char* suffix,
                                cage_str value) {
  char key[MAX_KEY];
  return mock_list_env(edits, index, key_of(key, device, suffix), value);
}

enum { MAX_NUMBER = 48 };

static cage_str write_number(char* to, int64_t value, int32_t exp10) {
  int size = exp10 == 0 ? snprintf(to, MAX_NUMBER, "%" PRId64, value)
                        : snprintf(to, MAX_NUMBER, "%" PRId64 "e%" PRId32, value, exp10);
  return (cage_str){to, (size_t)size};
}

static cage_status add_number_env(cage_edits* edits, int32_t index, const struct device* device, const char* suffix,
                                  int64_t value) {
  char text[MAX_NUMBER];
  return add_env(edits, index, device, suffix, write_number(text, value, 0));
}

static const char* giver_of(const cage_values* params, const char* name) {
  int32_t source = params->source(params, name);
  return source == CAGE_PARAMS_CLAIM ? "claim" : source == CAGE_PARAMS_CLASS ? "class" : "default";
}

/* "main=4Gi,side=1Gi" */
static cage_status add_map(cage_edits* edits, int32_t index, const struct device* device, const char* suffix,
                           const cage_values* params, const char* name) {
  char text[1024] = "";
  size_t used = 0;
  const cage_str *keys = NULL, *values = NULL;
  uint32_t count = params->map(params, name, &keys, &values);
  for (uint32_t i = 0; i < count && used < sizeof text; ++i) {
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s=%.*s", i > 0 ? "," : "", (int)keys[i].size,
                             keys[i].data, (int)values[i].size, values[i].data);
  }
  return add_env(edits, index, device, suffix, text_of(text));
}

static cage_status add_gpu_params(cage_edits* edits, int32_t index, const struct device* device,
                                  const cage_values* params) {
  cage_status status = add_env(edits, index, device, "SHARING", params->string(params, "sharing.strategy"));
  if (status != CAGE_OK) return status;
  status = add_env(edits, index, device, "SHARING_FROM", text_of(giver_of(params, "sharing.strategy")));
  if (status != CAGE_OK) return status;
  status =
      add_number_env(edits, index, device, "INTERVAL_MS", params->integer(params, "sharing.timeSlicing.intervalMs"));
  if (status != CAGE_OK) return status;
  status = add_map(edits, index, device, "MEMORY_LIMITS", params, "sharing.memoryLimits");
  if (status != CAGE_OK) return status;
  return add_number_env(edits, index, device, "MAX_MHZ", params->integer(params, "clocks.maxMhz"));
}

static cage_status add_device_params(cage_edits* edits, int32_t index, const struct device* device,
                                     const cage_values* params) {
  cage_status status = add_env(edits, index, device, "SHARING", params->string(params, "sharing"));
  if (status != CAGE_OK) return status;
  status = add_number_env(edits, index, device, "INTERVAL_MS", params->integer(params, "intervalMs"));
  const cage_str* items = NULL;
  uint32_t count = params->list(params, "env", &items);
  for (uint32_t i = 0; i < count && status == CAGE_OK; ++i) {
    const char* equals = items[i].size > 0 ? memchr(items[i].data, '=', items[i].size) : NULL;
    if (equals == NULL) continue; /* not a variable; bad names are for the host to refuse */
    size_t name = (size_t)(equals - items[i].data);
    status =
        edits->env(edits, index, (cage_str){items[i].data, name}, (cage_str){equals + 1, items[i].size - name - 1});
  }
  return status;
}

static cage_status add_params(cage_edits* edits, int32_t index, const struct device* device,
                              const cage_values* params) {
  if (text_is(params->params_kind, "GpuConfig")) return add_gpu_params(edits, index, device, params);
  if (text_is(params->params_kind, "NicConfig")) {
    return add_number_env(edits, index, device, "MTU", params->integer(params, "mtu"));
  }
  return add_device_params(edits, index, device, params);
}

static cage_status add_identity(cage_edits* edits, int32_t index, const struct device* device, const cage_alloc* alloc,
                                const char* claim_uid) {
  cage_status status = add_env(edits, index, device, "", text_of(device->uuid));
  if (status == CAGE_OK && (alloc->flags & CAGE_ALLOC_ADMIN) != 0) {
    status = add_env(edits, index, device, "ADMIN", text_of("1"));
  }
  if (status == CAGE_OK && holds_was_bound(device, claim_uid)) {
    status = add_env(edits, index, device, "BOUND", text_of("1"));
  }
  if (status == CAGE_OK && alloc->share_id.size > 0) {
    status = add_of_share(edits, index, device, "SHARE", alloc->share_id);
  }
  for (uint32_t i = 0; i < alloc->consumed_count && status == CAGE_OK; ++i) {
    char name[64], number[MAX_NUMBER];
    if (!text_copy(name, sizeof name, alloc->consumed[i].name)) continue;
    const cage_str amount = write_number(number, alloc->consumed[i].value, alloc->consumed[i].exp10);
    status = add_of_share(edits, index, device, name, amount);
  }
  return status;
}

cage_status mock_edit(const cage_instance* mock, const char* claim_uid, const cage_alloc* alloc, int32_t index,
                      const struct device* device, cage_edits* edits) {
  cage_status status = add_identity(edits, index, device, alloc, claim_uid);
  if (status == CAGE_OK && mock->settings.env_list) {
    status = mock_list_env(edits, index, text_of("MOCK_DEVICES"), text_of(device->id));
  }
  if (status == CAGE_OK && alloc->values != NULL) status = add_params(edits, index, device, alloc->values);
  if (status == CAGE_OK) status = mock_state(mock, index, edits);
  if (status != CAGE_OK) return status;

  char inside[96];
  snprintf(inside, sizeof inside, "/dev/mock/%s", device->id);
  cage_device_node node = {.struct_size = sizeof node,
                           .path = text_of(inside),
                           .host_path = text_of(mock->settings.device_node),
                           .permissions = CAGE_LIT("rw"),
                           .major = -1,
                           .minor = -1,
                           .uid = -1,
                           .gid = -1};
  status = edits->device_node(edits, index, &node);
  bool has_file = mock->holds.fd >= 0 && (alloc->flags & CAGE_ALLOC_ADMIN) == 0;
  if (status != CAGE_OK || !has_file) return status;

  char path[512];
  holds_path(&mock->holds, device, claim_uid, path, sizeof path);
  snprintf(inside, sizeof inside, "/run/mock/%s", device->id);
  const cage_str options[] = {CAGE_LIT("ro"), CAGE_LIT("bind"), CAGE_LIT("nosuid"), CAGE_LIT("nodev")};
  cage_mount mount = {.struct_size = sizeof mount,
                      .option_count = sizeof options / sizeof *options,
                      .host_path = text_of(path),
                      .container_path = text_of(inside),
                      .options = options};
  return edits->mount(edits, index, &mount);
}
