#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cage_str text_of(const char* literal) { return (cage_str){literal, strlen(literal)}; }

bool text_is(cage_str text, const char* literal) {
  return text.size == strlen(literal) && (text.size == 0 || memcmp(text.data, literal, text.size) == 0);
}

bool text_copy(char* to, size_t room, cage_str from) {
  bool fits = from.size < room;
  if (fits && from.size > 0) memcpy(to, from.data, from.size);
  to[fits ? from.size : 0] = '\0';
  return fits;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

cage_str text_word(cage_str* rest) {
  size_t start = 0;
  while (start < rest->size && is_blank(rest->data[start])) ++start;
  size_t end = start;
  while (end < rest->size && !is_blank(rest->data[end])) ++end;
  size_t next = end;
  while (next < rest->size && is_blank(rest->data[next])) ++next;
  if (rest->size == 0) return (cage_str){"", 0};
  cage_str word = {rest->data + start, end - start};
  *rest = (cage_str){rest->data + next, rest->size - next};
  return word;
}

/* Splits leading digits off *text; returns false if there are none or the number exceeds max. */
static bool take_number(cage_str* text, uint64_t max, uint64_t* number) {
  size_t end = 0;
  uint64_t value = 0;
  for (; end < text->size && is_digit(text->data[end]); ++end) {
    uint64_t digit = (uint64_t)(text->data[end] - '0');
    if (value > (max - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *number = value;
  text->data += end;
  text->size -= end;
  return end > 0;
}

bool text_number(cage_str text, uint32_t max, uint32_t* number) {
  uint64_t value = 0;
  if (!take_number(&text, max, &value) || text.size > 0 || value > max) return false;
  *number = (uint32_t)value;
  return true;
}

bool text_duration(cage_str text, uint64_t* nanoseconds) {
  static const struct {
    const char* name;
    uint64_t nanoseconds;
  } units[] = {{"h", 3600000000000u}, {"m", 60000000000u}, {"s", 1000000000u}, {"ms", 1000000u}, {"us", 1000u}};
  if (text.size == 0) return false;
  uint64_t total = 0;
  while (text.size > 0) {
    uint64_t count = 0;
    if (!take_number(&text, 1000000, &count)) return false;
    size_t letters = 0;
    while (letters < text.size && !is_digit(text.data[letters])) ++letters;
    cage_str unit = {text.data, letters};
    uint64_t factor = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
      if (text_is(unit, units[i].name)) factor = units[i].nanoseconds;
    }
    if (factor == 0) return false;
    total += count * factor;
    text = (cage_str){text.data + letters, text.size - letters};
  }
  *nanoseconds = total;
  return true;
}

bool text_amount(cage_str text, cage_quantity* amount) {
  static const struct {
    const char* name;
    uint32_t shift; /* shift of a binary suffix */
    int32_t exp10;
  } suffixes[] = {{"", 0, 0},  {"m", 0, -3},  {"k", 0, 3},   {"M", 0, 6},
                  {"G", 0, 9}, {"Ki", 10, 0}, {"Mi", 20, 0}, {"Gi", 30, 0}};
  uint64_t number = 0;
  if (!take_number(&text, UINT32_MAX, &number)) return false;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; ++i) {
    if (!text_is(text, suffixes[i].name)) continue;
    *amount = (cage_quantity){.value = (int64_t)(number << suffixes[i].shift),
                              .exp10 = suffixes[i].exp10,
                              .format = suffixes[i].shift > 0 ? CAGE_QTY_BINARY : CAGE_QTY_DECIMAL};
    return true;
  }
  return false;
}

uint64_t text_hash(uint64_t hash, cage_str text) {
  for (size_t i = 0; i < text.size; ++i) hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001b3u;
  return hash;
}

static cage_str text_format(char* to, size_t room, const char* format, va_list arguments) {
  int written = vsnprintf(to, room, format, arguments);
  if (written < 0) return text_of("");
  return (cage_str){to, (size_t)written < room ? (size_t)written : room - 1};
}

cage_status refuse(const cage_call* call, cage_status status, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  call->explain(call, text_format(text, sizeof text, format, arguments));
  va_end(arguments);
  return status;
}

void log_line(const cage_host* host, uint32_t level, const char* format, ...) {
  if (!host->log_enabled(host, level)) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  host->log(host, level, text_format(text, sizeof text, format, arguments));
  va_end(arguments);
}
