#include "health.h"

#include <stdlib.h>
#include <string.h>

#include "instance.h"
#include "text.h"

struct statement* statement_about(const struct device* device, cage_str cause) {
  struct statement* found = device->health;
  while (found != NULL && !text_is(cause, found->cause)) found = found->next;
  return found;
}

cage_health health_of(const struct device* device, const struct statement* statement) {
  cage_health health = {.struct_size = sizeof(cage_health), .state = CAGE_HEALTH_OK, .device_id = text_of(device->id)};
  if (statement == NULL) return health;
  health.state = statement->state;
  health.taint = statement->taint;
  health.cause = text_of(statement->cause);
  health.reason = text_of(statement->reason);
  health.message = text_of(statement->message);
  health.taint_key = text_of(statement->taint_key);
  health.taint_value = text_of(statement->taint_value);
  health.value = statement->value;
  health.has_value = statement->has_value;
  return health;
}

static void free_texts(struct statement* statement) {
  free(statement->cause);
  free(statement->reason);
  free(statement->message);
  free(statement->taint_key);
  free(statement->taint_value);
}

static char* owned(cage_str text) { return strndup(text.size > 0 ? text.data : "", text.size); }

static bool copy(struct statement* to, const cage_health* from) {
  to->state = from->state;
  to->taint = from->taint;
  to->value = from->value;
  to->has_value = from->has_value;
  to->cause = owned(from->cause);
  to->reason = owned(from->reason);
  to->message = owned(from->message);
  to->taint_key = owned(from->taint_key);
  to->taint_value = owned(from->taint_value);
  if (to->cause && to->reason && to->message && to->taint_key && to->taint_value) return true;
  free_texts(to);
  return false;
}

static bool is_event(cage_str cause) {
  for (size_t i = 0; i < MOCK_CAUSE_COUNT; ++i)
    if (text_is(cause, mock_causes[i]->name.data)) return (mock_causes[i]->flags & CAGE_CAUSE_EVENT) != 0;
  return false;
}

bool devices_state_health(struct devices* devices, struct device* device, const cage_health* health,
                          const cage_host* host) {
  if (is_event(health->cause)) { /* stated when it happens, and not again by a check */
    cage_health happened = *health;
    happened.device_id = text_of(device->id);
    if (host != NULL) host->health(host, &happened);
    return true;
  }
  struct statement* fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL || !copy(fresh, health)) {
    free(fresh);
    return false;
  }
  pthread_mutex_lock(&devices->lock);
  struct statement* known = statement_about(device, health->cause);
  if (known == NULL) {
    fresh->next = device->health;
    device->health = known = fresh;
  } else {
    struct statement old = *known;
    fresh->next = old.next;
    *known = *fresh;
    *fresh = old;
  }
  cage_health told = health_of(device, known);
  if (host != NULL) host->health(host, &told); /* under the lock, so that a later statement cannot overtake this one */
  pthread_mutex_unlock(&devices->lock);
  if (known != fresh) {
    free_texts(fresh);
    free(fresh);
  }
  return true;
}

void devices_tell_health(struct devices* devices, const struct device* device, const cage_host* host) {
  pthread_mutex_lock(&devices->lock);
  cage_health healthy = health_of(device, NULL);
  if (device->health == NULL) host->health(host, &healthy);
  for (const struct statement* each = device->health; each != NULL; each = each->next) {
    cage_health health = health_of(device, each);
    host->health(host, &health);
  }
  pthread_mutex_unlock(&devices->lock);
}

void devices_heal(struct devices* devices, struct device* device, const cage_host* host) {
  pthread_mutex_lock(&devices->lock);
  for (struct statement* each = device->health; each != NULL; each = each->next) {
    each->state = CAGE_HEALTH_OK;
    each->taint = CAGE_TAINT_NONE;
    each->has_value = 0;
    each->reason[0] = each->message[0] = each->taint_key[0] = each->taint_value[0] = '\0';
  }
  pthread_mutex_unlock(&devices->lock);
  devices_tell_health(devices, device, host);
}

void devices_forget_health(struct device* device) {
  while (device->health != NULL) {
    struct statement* next = device->health->next;
    free_texts(device->health);
    free(device->health);
    device->health = next;
  }
}
