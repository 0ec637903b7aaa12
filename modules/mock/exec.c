/* cage.exec and cage.service: prepare runs the programs that the options name, as a real module runs a vendor's tool
 * and keeps a vendor's daemon. */
#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "text.h"

struct outcome { /* "exit 0: first line", "signal 9 after its limit: ", "exit 0 of 400099 bytes: aaa" */
  char text[200];
};

static void note_result(void* user, const cage_command_result* result) {
  struct outcome* outcome = user;
  const char* out = result->out.data;
  const char* end = result->out.size > 0 ? memchr(out, '\n', result->out.size) : NULL;
  size_t line = end != NULL ? (size_t)(end - out) : result->out.size;
  char size[40] = "";
  if (result->out.size > 100) snprintf(size, sizeof size, " of %zu bytes", result->out.size);
  snprintf(outcome->text, sizeof outcome->text, "%s %d%s%s%s: %.*s", result->signal != 0 ? "signal" : "exit",
           (int)(result->signal != 0 ? result->signal : result->exit_status),
           (result->flags & CAGE_COMMAND_TIMED_OUT) != 0 ? " after its limit" : "",
           (result->flags & CAGE_COMMAND_CUT) != 0 ? " with more output" : "", size, (int)(line < 100 ? line : 100),
           line > 0 ? out : "");
}

static cage_command command_of(const struct words* words, uint32_t limit_ms, cage_str* arguments) {
  static const cage_str environment[] = {CAGE_LIT("PATH=/usr/bin:/bin")};
  for (uint32_t i = 1; i < words->count; ++i) arguments[i - 1] = text_of(words->all[i]);
  return (cage_command){.struct_size = sizeof(cage_command),
                        .timeout_ms = limit_ms,
                        .program = text_of(words->all[0]),
                        .args = arguments,
                        .arg_count = words->count - 1,
                        .env = environment,
                        .env_count = 1};
}

cage_status mock_exec_run(const cage_instance* mock, const cage_call* call, cage_edits* edits) {
  const struct settings* settings = &mock->settings;
  if (settings->exec.count == 0) return CAGE_OK;
  const cage_exec* exec = mock->host->extension(mock->host, CAGE_HOST_EXEC);
  if (exec == NULL) return refuse(call, CAGE_FAILED_PRECONDITION, "the host has no " CAGE_HOST_EXEC);
  cage_str arguments[MAX_EXEC];
  const cage_command command = command_of(&settings->exec, settings->exec_limit_ms, arguments);
  struct outcome outcome;
  cage_status status = exec->run(mock->host, call, &command, &outcome, note_result);
  if (status != CAGE_OK) return status;
  return edits->env(edits, -1, text_of("MOCK_EXEC"), text_of(outcome.text));
}

static const cage_str service_name = CAGE_LIT("helper");

static const cage_service* service_family(const cage_instance* mock) {
  return mock->host->extension(mock->host, CAGE_HOST_SERVICE);
}

cage_status mock_service_start(const cage_instance* mock, const cage_call* call) {
  const struct words* words = &mock->settings.service;
  if (words->count == 0) return CAGE_OK;
  const cage_service* family = service_family(mock);
  if (family == NULL) return refuse(call, CAGE_FAILED_PRECONDITION, "the host has no " CAGE_HOST_SERVICE);
  cage_str arguments[MAX_EXEC];
  const cage_command command = command_of(words, 0, arguments);
  return family->start(mock->host, call, service_name, &command);
}

cage_status mock_service_stop(const cage_instance* mock, const cage_call* call) {
  const cage_service* family = mock->settings.service_stop ? service_family(mock) : NULL;
  return family == NULL ? CAGE_OK : family->stop(mock->host, call, service_name);
}
