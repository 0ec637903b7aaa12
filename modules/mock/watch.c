/* cage.watch, which only libcardcage_mock_watch.so offers: logs each event, and executes kernel messages as lines of
 * the script. */
#include <string.h>

#include "instance.h"
#include "text.h"
#include "verbs.h"

#define BEGINNING "cardcage-mock: "
enum { BEGINNING_SIZE = sizeof BEGINNING - 1 };

/* "cardcage-mock: health gpu-1 bad XidError", without a duration */
static void execute_message(cage_instance* mock, cage_str text) {
  const cage_str line = {text.data + BEGINNING_SIZE, text.size - BEGINNING_SIZE};
  uint64_t delay_ns = 0;
  cage_str command;
  const char* wrong = verbs_check(&mock->devices, line, &delay_ns, &command);
  if (wrong == NULL)
    verbs_run(&mock->script, command);
  else
    log_line(mock->host, CAGE_LOG_ERROR, "a kernel message is not executed: %s", wrong);
}

static void handle(cage_instance* mock, const cage_event* event) {
  const int size = event->text.size < 512 ? (int)event->text.size : 512;
  switch (event->type) {
    case CAGE_EVENT_KERNEL_LOG:
      log_line(mock->host, CAGE_LOG_INFO, "kernel message: %.*s", size, event->text.data);
      if (event->text.size >= BEGINNING_SIZE) execute_message(mock, event->text);
      break;
    case CAGE_EVENT_UEVENT: log_line(mock->host, CAGE_LOG_INFO, "uevent: %.*s", size, event->text.data); break;
    default: log_line(mock->host, CAGE_LOG_INFO, "event of type %u", event->type);
  }
}

static cage_status mock_events(cage_instance* mock, const cage_call* call, const cage_event* const* events,
                               uint32_t count, uint32_t flags) {
  cage_status status = faults_enter(&mock->faults, CALL_EVENTS, call);
  if (status != CAGE_OK) return status;
  if ((flags & CAGE_EVENTS_LOST) != 0) {
    log_line(mock->host, CAGE_LOG_WARN, "events were lost");
    mock->host->rescan(mock->host);
  }
  for (uint32_t i = 0; i < count; ++i) handle(mock, events[i]);
  return CAGE_OK;
}

const cage_watch* mock_watch(void) {
  static const cage_str messages[] = {CAGE_LIT(BEGINNING)}, subsystems[] = {CAGE_LIT("net")};
  static const cage_watch watch = {.struct_size = sizeof watch,
                                   .kernel_log = messages,
                                   .uevents = subsystems,
                                   .kernel_log_count = 1,
                                   .uevent_count = 1,
                                   .events = mock_events};
  return &watch;
}
