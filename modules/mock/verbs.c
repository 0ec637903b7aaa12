#include "verbs.h"

#include <stdlib.h>

#include "text.h"

struct words { /* of one command; each verb knows which it needs */
  struct device* device;
  enum call_kind kind;
  uint32_t health;
  uint64_t delay_ns;
  cage_str reason, rest;
};

static const char* need_device(const struct devices* devices, cage_str* line, struct words* words) {
  words->device = devices_find(devices, text_word(line));
  return words->device != NULL ? NULL : "the word after the verb is not the id of a device";
}

static const char* need_kind(cage_str* line, struct words* words) {
  words->kind = call_kind_of(text_word(line));
  return words->kind != CALL_KIND_COUNT ? NULL : "the word after the verb is not a call such as prepare";
}

static const char* parse_health(const struct devices* devices, cage_str line, struct words* words) {
  const char* wrong = need_device(devices, &line, words);
  if (wrong != NULL) return wrong;
  cage_str state = text_word(&line);
  words->health = text_is(state, "ok") ? CAGE_HEALTH_OK : text_is(state, "bad") ? CAGE_HEALTH_BAD : CAGE_HEALTH_UNKNOWN;
  if (words->health == CAGE_HEALTH_UNKNOWN && !text_is(state, "unknown")) return "health is ok, bad or unknown";
  words->reason = text_word(&line);
  words->rest = line;
  return NULL;
}
static void run_health(struct script* script, const struct words* words) {
  devices_set_health(script->devices, words->device, words->health, words->reason, words->rest);
  devices_tell_health(script->devices, words->device, script->host);
}

static const char* parse_device(const struct devices* devices, cage_str line, struct words* words) {
  return need_device(devices, &line, words);
}
static void run_add(struct script* script, const struct words* words) {
  if (devices_plug(script->devices, words->device, true)) script->host->rescan(script->host);
}
static void run_remove(struct script* script, const struct words* words) {
  if (devices_plug(script->devices, words->device, false)) script->host->rescan(script->host);
}

static const char* parse_none(const struct devices* devices, cage_str line, struct words* words) {
  (void)devices;
  (void)words;
  return line.size == 0 ? NULL : "this verb takes no words";
}
static void run_rescan(struct script* script, const struct words* words) {
  (void)words;
  script->host->rescan(script->host);
}
static void run_crash(struct script* script, const struct words* words) {
  (void)script;
  (void)words;
  abort();
}

static const char* parse_fail(const struct devices* devices, cage_str line, struct words* words) {
  (void)devices;
  const char* wrong = need_kind(&line, words);
  words->rest = line;
  return wrong != NULL || line.size > 0 ? wrong : "write: fail CALL DEVICE-OR-* [TEXT]";
}
static void run_fail(struct script* script, const struct words* words) {
  faults_refuse(script->faults, words->kind, words->rest);
}

static const char* parse_kind(const struct devices* devices, cage_str line, struct words* words) {
  (void)devices;
  return need_kind(&line, words);
}
static void run_hang(struct script* script, const struct words* words) { faults_hang(script->faults, words->kind); }
static void run_heal(struct script* script, const struct words* words) { faults_heal(script->faults, words->kind); }

static const char* parse_delay(const struct devices* devices, cage_str line, struct words* words) {
  (void)devices;
  const char* wrong = need_kind(&line, words);
  if (wrong != NULL) return wrong;
  return text_duration(text_word(&line), &words->delay_ns) ? NULL : "write: delay CALL DURATION";
}
static void run_delay(struct script* script, const struct words* words) {
  faults_delay(script->faults, words->kind, words->delay_ns);
}

static const struct verb {
  const char* name;
  const char* (*parse)(const struct devices* devices, cage_str line, struct words* words);
  void (*run)(struct script* script, const struct words* words);
} verbs[] = {
    {"health", parse_health, run_health}, {"add", parse_device, run_add},   {"remove", parse_device, run_remove},
    {"rescan", parse_none, run_rescan},   {"crash", parse_none, run_crash}, {"fail", parse_fail, run_fail},
    {"hang", parse_kind, run_hang},       {"heal", parse_kind, run_heal},   {"delay", parse_delay, run_delay}};

static const struct verb* find_verb(cage_str* command) {
  cage_str name = text_word(command);
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; ++i) {
    if (text_is(name, verbs[i].name)) return &verbs[i];
  }
  return NULL;
}

const char* verbs_check(const struct devices* devices, cage_str line, uint64_t* delay_ns, cage_str* command) {
  *delay_ns = 0;
  *command = line;
  if (text_duration(text_word(&line), delay_ns)) *command = line;
  cage_str rest = *command;
  const struct verb* verb = find_verb(&rest);
  if (verb == NULL) return "the verb is not one of health, add, remove, rescan, fail, delay, hang, heal and crash";
  struct words words;
  return verb->parse(devices, rest, &words);
}

void verbs_run(struct script* script, cage_str command) {
  const struct verb* verb = find_verb(&command);
  struct words words = {.device = NULL};
  if (verb != NULL && verb->parse(script->devices, command, &words) == NULL) verb->run(script, &words);
}
