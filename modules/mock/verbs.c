#include "verbs.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

struct arguments { /* arguments of a command; each verb reads the ones that it needs */
  struct device* device;
  enum call_kind kind;
  cage_health health;
  uint64_t delay_ns;
  uint64_t rate;
  cage_str rest;
};

static const char* need_device(const struct devices* devices, cage_str* line, struct arguments* arguments) {
  arguments->device = devices_find(devices, text_word(line));
  return arguments->device != NULL ? NULL : "the word after the verb is not the id of a device";
}

static const char* need_kind(cage_str* line, struct arguments* arguments) {
  arguments->kind = call_kind_of(text_word(line));
  return arguments->kind != CALL_KIND_COUNT ? NULL : "the word after the verb is not a call such as prepare";
}

struct word {
  const char* text;
  uint32_t number;
};
static const struct word states[] = {{"ok", CAGE_HEALTH_OK},
                                     {"bad", CAGE_HEALTH_BAD},
                                     {"unknown", CAGE_HEALTH_UNKNOWN},
                                     {"unmonitored", CAGE_HEALTH_UNMONITORED},
                                     {"degraded", CAGE_HEALTH_DEGRADED},
                                     {NULL, 0}};
static const struct word effects[] = {{"none", CAGE_TAINT_NONE},
                                      {"NoSchedule", CAGE_TAINT_NO_SCHEDULE},
                                      {"NoExecute", CAGE_TAINT_NO_EXECUTE},
                                      {"inform", CAGE_TAINT_INFORM},
                                      {NULL, 0}};

static bool find_word(cage_str text, const struct word* word, uint32_t* number) {
  while (word->text != NULL && !text_is(text, word->text)) ++word;
  *number = word->number;
  return word->text != NULL;
}

/* Removes the prefix from the text, if it has it. */
static bool after(cage_str* text, const char* prefix) {
  size_t size = strlen(prefix);
  if (text->size < size || memcmp(text->data, prefix, size) != 0) return false;
  *text = (cage_str){text->data + size, text->size - size};
  return true;
}

/* Returns the text up to the character, and removes both; returns the whole text if the character is missing. */
static cage_str before(cage_str* text, char end) {
  const char* found = text->size > 0 ? memchr(text->data, end, text->size) : NULL;
  size_t size = found != NULL ? (size_t)(found - text->data) : text->size, gone = found != NULL ? size + 1 : size;
  cage_str head = {text->data, size};
  *text = (cage_str){text->data + gone, text->size - gone};
  return head;
}

/* Parses "NoExecute" or "example.com/ecc=Dbe:NoExecute". */
static bool read_taint(cage_str text, cage_health* health) {
  cage_str value = before(&text, ':');
  if (text.size == 0) return find_word(value, effects, &health->taint);
  health->taint_key = before(&value, '=');
  health->taint_value = value;
  return find_word(text, effects, &health->taint);
}

/* Parses a number; also "nan" and "inf", which the host refuses. */
static bool read_value(cage_str text, double* value) {
  char copy[32];
  if (text.size == 0 || !text_copy(copy, sizeof copy, text)) return false;
  char* end = NULL;
  *value = strtod(copy, &end);
  return *end == '\0';
}

static const char* parse_health(const struct devices* devices, cage_str line, struct arguments* arguments) {
  const char* wrong = need_device(devices, &line, arguments);
  if (wrong != NULL) return wrong;
  cage_health* health = &arguments->health;
  *health = (cage_health){.struct_size = sizeof(cage_health)};
  if (!find_word(text_word(&line), states, &health->state))
    return "health is ok, bad, unknown, unmonitored or degraded";
  health->taint = health->state == CAGE_HEALTH_BAD ? CAGE_TAINT_NO_SCHEDULE : CAGE_TAINT_NONE;
  health->reason = text_word(&line);
  if (after(&health->reason, "cause=")) {
    health->cause = health->reason;
    health->reason = text_word(&line);
  }
  if (after(&health->reason, "value=")) {
    if (!read_value(health->reason, &health->value)) return "a value is a number such as 96.5";
    health->has_value = 1;
    health->reason = text_word(&line);
  }
  if (after(&health->reason, "taint=")) {
    if (!read_taint(health->reason, health)) return "a taint is EFFECT or KEY[=VALUE]:EFFECT";
    health->reason = text_word(&line);
  }
  health->message = line;
  return NULL;
}
static void run_health(struct script* script, const struct arguments* arguments) {
  const cage_host* host = script->quiet ? NULL : script->host;
  devices_state_health(script->devices, arguments->device, &arguments->health, host);
}

static const char* parse_device(const struct devices* devices, cage_str line, struct arguments* arguments) {
  return need_device(devices, &line, arguments);
}
static void run_add(struct script* script, const struct arguments* arguments) {
  if (devices_plug(script->devices, arguments->device, true)) script->host->rescan(script->host);
}
static void run_remove(struct script* script, const struct arguments* arguments) {
  if (devices_plug(script->devices, arguments->device, false)) script->host->rescan(script->host);
}

static const char* parse_none(const struct devices* devices, cage_str line, struct arguments* arguments) {
  (void)devices;
  (void)arguments;
  return line.size == 0 ? NULL : "this verb takes no arguments";
}
static void run_rescan(struct script* script, const struct arguments* arguments) {
  (void)arguments;
  script->host->rescan(script->host);
}
static void run_crash(struct script* script, const struct arguments* arguments) {
  (void)script;
  (void)arguments;
  abort();
}

static const char* parse_fail(const struct devices* devices, cage_str line, struct arguments* arguments) {
  (void)devices;
  const char* wrong = need_kind(&line, arguments);
  arguments->rest = line;
  return wrong != NULL || line.size > 0 ? wrong : "write: fail CALL DEVICE|* [TEXT]";
}
static void run_fail(struct script* script, const struct arguments* arguments) {
  faults_refuse(script->faults, arguments->kind, arguments->rest);
}

static const char* parse_kind(const struct devices* devices, cage_str line, struct arguments* arguments) {
  (void)devices;
  return need_kind(&line, arguments);
}
static void run_hang(struct script* script, const struct arguments* arguments) {
  faults_hang(script->faults, arguments->kind);
}
static void run_heal(struct script* script, const struct arguments* arguments) {
  faults_heal(script->faults, arguments->kind);
}

static const char* parse_delay(const struct devices* devices, cage_str line, struct arguments* arguments) {
  (void)devices;
  const char* wrong = need_kind(&line, arguments);
  if (wrong != NULL) return wrong;
  return text_duration(text_word(&line), &arguments->delay_ns) ? NULL : "write: delay CALL DURATION";
}
static void run_delay(struct script* script, const struct arguments* arguments) {
  faults_delay(script->faults, arguments->kind, arguments->delay_ns);
}

static const char* parse_storm(const struct devices* devices, cage_str line, struct arguments* arguments) {
  (void)devices;
  double rate = 0;
  if (!read_value(text_word(&line), &rate) || !(rate >= 1 && rate <= 100000) ||
      !text_duration(text_word(&line), &arguments->delay_ns))
    return "write: storm SIGNALS_PER_SECOND DURATION, at most 100000 signals per second";
  arguments->rate = (uint64_t)rate;
  return NULL;
}
static void run_storm(struct script* script, const struct arguments* arguments) {
  script_storm(script, arguments->rate, arguments->delay_ns);
}

static const struct verb {
  const char* name;
  const char* (*parse)(const struct devices* devices, cage_str line, struct arguments* arguments);
  void (*run)(struct script* script, const struct arguments* arguments);
} verbs[] = {{"health", parse_health, run_health}, {"add", parse_device, run_add},
             {"remove", parse_device, run_remove}, {"rescan", parse_none, run_rescan},
             {"crash", parse_none, run_crash},     {"fail", parse_fail, run_fail},
             {"hang", parse_kind, run_hang},       {"heal", parse_kind, run_heal},
             {"delay", parse_delay, run_delay},    {"storm", parse_storm, run_storm}};

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
  if (verb == NULL)
    return "the verb is not one of health, storm, add, remove, rescan, fail, delay, hang, heal and crash";
  struct arguments arguments;
  return verb->parse(devices, rest, &arguments);
}

void verbs_run(struct script* script, cage_str command) {
  const struct verb* verb = find_verb(&command);
  struct arguments arguments = {.device = NULL};
  if (verb != NULL && verb->parse(script->devices, command, &arguments) == NULL) verb->run(script, &arguments);
}
