/* cage.write: prepare and unprepare make the accesses that the options list, as a real module resets or rebinds a card.
 *
 * "file PATH TEXT", "ioctl PATH REQUEST ARGUMENT [DATA_PATH OFFSET [START [SHA256]]]" (hexadecimal, "-" = no argument),
 * "exclusive" with the same words, "driver ADDRESS [DRIVER]"; without a driver the function gets its own back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"
#include "text.h"

enum { MAX_ARGUMENT = 64 };

/* A space or a NUL ends the word and the number. */
static uint64_t hexadecimal(cage_str word) { return word.size > 0 ? strtoull(word.data, NULL, 16) : 0; }

static uint32_t bytes_of(cage_str digits, unsigned char* bytes) {
  uint32_t size = 0;
  for (; size < MAX_ARGUMENT && 2 * (size_t)size + 1 < digits.size; ++size) {
    char pair[3] = {digits.data[2 * size], digits.data[2 * size + 1], '\0'};
    bytes[size] = (unsigned char)strtoul(pair, NULL, 16);
  }
  return size;
}

struct place { /* the place of an access, and the resulting arguments of ioctls */
  const cage_host* host;
  const cage_write* write;
  const cage_call* call;
  cage_str device;
  uint32_t limit_ms;
  char outcome[4 * MAX_ARGUMENT];
};

static cage_status make_ioctl(struct place* place, cage_str rest, uint32_t flags) {
  cage_str path = text_word(&rest), request = text_word(&rest), digits = text_word(&rest), data = text_word(&rest);
  cage_str offset = text_word(&rest), start = text_word(&rest);
  unsigned char argument[MAX_ARGUMENT];
  const cage_ioctl ioctl = {.struct_size = sizeof ioctl,
                            .timeout_ms = place->limit_ms,
                            .device_id = place->device,
                            .path = path,
                            .request = hexadecimal(request),
                            .argument = argument,
                            .argument_size = bytes_of(digits, argument),
                            .data_path = data,
                            .data_offset = (uint32_t)hexadecimal(offset),
                            .data_sha256 = text_word(&rest),
                            .data_start = hexadecimal(start),
                            .flags = flags};
  cage_status status = place->write->ioctl(place->host, place->call, &ioctl);
  size_t used = strlen(place->outcome);
  for (uint32_t i = 0; i < ioctl.argument_size && status == CAGE_OK && used + 3 < sizeof place->outcome; ++i) {
    used += (size_t)snprintf(place->outcome + used, sizeof place->outcome - used, "%02x", argument[i]);
  }
  return status;
}

static cage_status make_access(struct place* place, const char* line) {
  cage_str rest = text_of(line), verb = text_word(&rest);
  if (text_is(verb, "ioctl")) return make_ioctl(place, rest, 0);
  if (text_is(verb, "exclusive")) return make_ioctl(place, rest, CAGE_IOCTL_EXCLUSIVE);
  cage_str target = text_word(&rest), what = text_word(&rest);
  if (text_is(verb, "driver")) return place->write->driver(place->host, place->call, place->device, target, what);
  const cage_file_write write = {.struct_size = sizeof write,
                                 .timeout_ms = place->limit_ms,
                                 .device_id = place->device,
                                 .path = target,
                                 .data = {what.data, what.size}};
  return place->write->file(place->host, place->call, &write);
}

cage_status mock_write(const cage_instance* mock, const cage_call* call, const cage_claim* claim,
                       const struct lines* lines, cage_edits* edits) {
  if (lines->count == 0 || claim->alloc_count == 0) return CAGE_OK;
  struct place place = {.host = mock->host,
                        .write = mock->host->extension(mock->host, CAGE_HOST_WRITE),
                        .call = call,
                        .device = claim->allocs[0]->device_id,
                        .limit_ms = mock->settings.write_limit_ms};
  if (place.write == NULL) return refuse(call, CAGE_FAILED_PRECONDITION, "the host has no " CAGE_HOST_WRITE);
  for (uint32_t i = 0; i < lines->count; ++i) {
    cage_status status = make_access(&place, lines->all[i]);
    if (status != CAGE_OK) return status;
  }
  if (edits == NULL || place.outcome[0] == '\0') return CAGE_OK;
  return edits->env(edits, -1, text_of("MOCK_WRITE"), text_of(place.outcome));
}
