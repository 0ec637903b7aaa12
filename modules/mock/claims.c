/* prepare, unprepare, cage.bind, cage.pre_start and cage.reconcile. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "text.h"

/* The uid becomes part of a file name, so it must not contain a path. */
static cage_status read_uid(const cage_call* call, const cage_claim* claim, char* uid) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (text_copy(uid, MAX_UID, claim->uid) && uid[0] != '\0' && strspn(uid, allowed) == claim->uid.size) return CAGE_OK;
  return refuse(call, CAGE_INVALID_ARGUMENT, "the uid of the claim is not 1 to %d letters, digits, '-', '_' and '.'",
                MAX_UID - 1);
}

static bool is_admin(const cage_alloc* alloc) { return (alloc->flags & CAGE_ALLOC_ADMIN) != 0; }

/* The state blob: a fingerprint of the claim and of the devices that it holds. prepare saves it, and unprepare checks
 * that it comes back unchanged [R7]. */
struct blob {
  char text[32];
};
static struct blob blob_of(const cage_claim* claim) {
  uint64_t hash = text_hash(TEXT_HASH_START, claim->uid);
  for (uint32_t i = 0; i < claim->alloc_count; ++i) {
    if (!is_admin(claim->allocs[i])) hash = text_hash(hash, claim->allocs[i]->device_id);
  }
  struct blob blob;
  snprintf(blob.text, sizeof blob.text, "mock/1 %016" PRIx64, hash);
  return blob;
}

static cage_status refuse_quiesced(const cage_call* call) {
  return refuse(call, CAGE_UNAVAILABLE, "the hardware is quiesced; resume it first");
}

static cage_status find_device(cage_instance* mock, const cage_call* call, const cage_alloc* alloc,
                               struct device** device) {
  *device = devices_find(&mock->devices, alloc->device_id);
  if (*device != NULL && devices_present(&mock->devices, *device)) return CAGE_OK;
  return refuse(call, CAGE_NOT_FOUND, "no device '%.*s'", (int)alloc->device_id.size, alloc->device_id.data);
}

static cage_status check_alloc(cage_instance* mock, enum call_kind kind, const cage_call* call, const cage_alloc* alloc,
                               const char* uid) {
  struct device* device = NULL;
  cage_status status = find_device(mock, call, alloc, &device);
  if (status != CAGE_OK) return status;
  if (device->quiesced || (device->parent != NULL && device->parent->quiesced)) return refuse_quiesced(call);
  status = faults_device(&mock->faults, kind, call, device->id);
  if (status != CAGE_OK || is_admin(alloc)) return status;
  return holds_free_for(&mock->devices, device, uid, call);
}

static cage_status occupy_and_edit(cage_instance* mock, const cage_call* call, const cage_claim* claim, const char* uid,
                                   cage_edits* edits) {
  cage_status status = mock_list_env(edits, -1, text_of("MOCK_CLAIM"), claim->uid);
  for (uint32_t i = 0; i < claim->alloc_count && status == CAGE_OK; ++i) {
    const cage_alloc* alloc = claim->allocs[i];
    struct device* device = NULL;
    status = find_device(mock, call, alloc, &device);
    if (status == CAGE_OK && !is_admin(alloc)) {
      status = holds_take(&mock->holds, device, uid, claim->name, call);
    }
    if (status == CAGE_OK) status = mock_edit(mock, uid, alloc, (int32_t)i, device, edits);
  }
  if (status != CAGE_OK) return status;
  struct blob blob = blob_of(claim);
  return edits->state(edits, (cage_bytes){blob.text, strlen(blob.text)});
}

/* Releases the new holds of a failed prepare, and keeps those of a successful one. */
static void finish(cage_instance* mock, const cage_call* call, const cage_claim* claim, const char* uid, bool keep) {
  for (uint32_t i = 0; i < claim->alloc_count; ++i) {
    struct device* device = devices_find(&mock->devices, claim->allocs[i]->device_id);
    if (device == NULL || !holds_fresh(device, uid)) continue;
    if (keep) {
      holds_settle(device, uid);
    } else {
      holds_release(&mock->holds, device, uid, call);
    }
  }
}

cage_status mock_prepare(cage_instance* mock, const cage_call* call, const cage_claim* claim, cage_edits* edits) {
  cage_status status = faults_enter(&mock->faults, CALL_PREPARE, call);
  if (status != CAGE_OK) return status;
  if (mock->quiesced) return refuse_quiesced(call);
  char uid[MAX_UID];
  status = read_uid(call, claim, uid);
  if (status == CAGE_OK) status = mock_journal_write(mock, call, claim, uid, edits);
  if (status == CAGE_OK) status = mock_exec_run(mock, call, edits);
  if (status == CAGE_OK) status = mock_service_start(mock, call);
  if (status == CAGE_OK) status = mock_write(mock, call, claim, &mock->settings.write, edits);
  pthread_mutex_lock(&mock->holds.lock);
  for (uint32_t i = 0; i < claim->alloc_count && status == CAGE_OK; ++i) {
    status = check_alloc(mock, CALL_PREPARE, call, claim->allocs[i], uid);
  }
  if (status == CAGE_OK && (MOCK_FLAGS & CAGE_MODULE_NO_PREPARE) == 0) {
    status = occupy_and_edit(mock, call, claim, uid, edits);
    finish(mock, call, claim, uid, status == CAGE_OK);
  }
  pthread_mutex_unlock(&mock->holds.lock);
  return status;
}

cage_status mock_unprepare(cage_instance* mock, const cage_call* call, const cage_claim* claim) {
  cage_status status = faults_enter(&mock->faults, CALL_UNPREPARE, call);
  if (status != CAGE_OK) return status;
  char uid[MAX_UID];
  status = read_uid(call, claim, uid);
  if (status != CAGE_OK) return status;
  struct blob blob = blob_of(claim);
  if (claim->state.size > 0 && (claim->state_version != MOCK_STATE_VERSION || claim->state.size != strlen(blob.text) ||
                                memcmp(claim->state.data, blob.text, claim->state.size) != 0)) {
    return refuse(call, CAGE_INTERNAL, "the state of claim %s is not the state that its prepare saved", uid);
  }
  status = mock_journal_check(mock, call, claim, uid);
  if (status == CAGE_OK) status = mock_service_stop(mock, call);
  if (status == CAGE_OK) status = mock_write(mock, call, claim, &mock->settings.write_back, NULL);
  pthread_mutex_lock(&mock->holds.lock);
  for (uint32_t i = 0; i < claim->alloc_count && status == CAGE_OK; ++i) {
    struct device* device = devices_find(&mock->devices, claim->allocs[i]->device_id);
    if (device == NULL) continue;
    status = faults_device(&mock->faults, CALL_UNPREPARE, call, device->id);
    if (status == CAGE_OK && !is_admin(claim->allocs[i])) {
      status = holds_release(&mock->holds, device, uid, call);
    }
  }
  pthread_mutex_unlock(&mock->holds.lock);
  return status;
}

/* Taints the device: the scheduler does not see the failure and would choose it again. */
static void taint(cage_instance* mock, struct device* device) {
  const cage_health health = {.struct_size = sizeof health,
                              .state = CAGE_HEALTH_BAD,
                              .reason = CAGE_LIT("NoPath"),
                              .message = CAGE_LIT("the fabric has no path to this device"),
                              .taint = CAGE_TAINT_NO_SCHEDULE};
  devices_state_health(&mock->devices, device, &health, mock->host);
}

/* Holds the device while it is being attached, so that no other claim gets it. Admin access needs no attachment. */
static cage_status bind_device(cage_instance* mock, const cage_call* call, const cage_claim* claim, const char* uid,
                               int32_t index, cage_bind_sink* sink) {
  const cage_alloc* alloc = claim->allocs[index];
  struct device* device = devices_find(&mock->devices, alloc->device_id);
  const struct bindings* bindings = &mock->settings.hardware.bindings;
  if (device == NULL || !bindings_include(bindings, device->kind)) return CAGE_OK;
  if (is_admin(alloc)) return bindings_state(BINDING_DONE, index, sink);
  cage_status status = check_alloc(mock, CALL_BIND, call, alloc, uid);
  if (status == CAGE_OK) status = holds_take(&mock->holds, device, uid, claim->name, call);
  if (status != CAGE_OK) return status;
  holds_settle(device, uid);
  enum binding progress = bindings_progress(bindings, alloc->device_id, holds_bound_for(device, uid));
  if (progress == BINDING_FAILED) taint(mock, device);
  return bindings_state(progress, index, sink);
}

cage_status mock_bind(cage_instance* mock, const cage_call* call, const cage_claim* claim, cage_bind_sink* sink) {
  cage_status status = faults_enter(&mock->faults, CALL_BIND, call);
  if (status != CAGE_OK) return status;
  if (mock->quiesced) return refuse_quiesced(call);
  char uid[MAX_UID];
  status = read_uid(call, claim, uid);
  pthread_mutex_lock(&mock->holds.lock);
  for (uint32_t i = 0; i < claim->alloc_count && status == CAGE_OK; ++i) {
    status = bind_device(mock, call, claim, uid, (int32_t)i, sink);
  }
  pthread_mutex_unlock(&mock->holds.lock);
  return status;
}

cage_status mock_pre_start(cage_instance* mock, const cage_call* call, const cage_claim* claim) {
  cage_status status = faults_enter(&mock->faults, CALL_PRE_START, call);
  if (status != CAGE_OK) return status;
  if (mock->quiesced) return refuse_quiesced(call);
  char uid[MAX_UID];
  status = read_uid(call, claim, uid);
  pthread_mutex_lock(&mock->holds.lock);
  for (uint32_t i = 0; i < claim->alloc_count && status == CAGE_OK; ++i) {
    struct device* device = NULL;
    status = find_device(mock, call, claim->allocs[i], &device);
    if (status == CAGE_OK) status = faults_device(&mock->faults, CALL_PRE_START, call, device->id);
    if (status == CAGE_OK) status = holds_mark_start(&mock->holds, device, uid, call);
  }
  pthread_mutex_unlock(&mock->holds.lock);
  return status;
}

static bool is_live(const struct device* device, const char* uid, const cage_claim* const* live, uint32_t live_count) {
  for (uint32_t i = 0; i < live_count; ++i) {
    if (!text_is(live[i]->uid, uid)) continue;
    for (uint32_t j = 0; j < live[i]->alloc_count; ++j) {
      if (text_is(live[i]->allocs[j]->device_id, device->id)) return true;
    }
  }
  return false;
}

cage_status mock_reconcile(cage_instance* mock, const cage_call* call, const cage_claim* const* live,
                           uint32_t live_count) {
  cage_status first = CAGE_OK;
  for (uint32_t i = 0; i < mock->devices.count; ++i) {
    struct device* device = &mock->devices.all[i];
    for (struct holder *holder = device->holders, *next = NULL; holder != NULL; holder = next) {
      next = holder->next;
      if (is_live(device, holder->claim, live, live_count)) continue;
      log_line(mock->host, CAGE_LOG_WARN, "device '%s': freed from claim %s, which is gone", device->id, holder->claim);
      char uid[MAX_UID];
      text_copy(uid, sizeof uid, text_of(holder->claim));
      cage_status status = holds_release(&mock->holds, device, uid, call);
      if (first == CAGE_OK) first = status;
    }
  }
  return first;
}
