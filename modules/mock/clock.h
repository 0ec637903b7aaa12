/* The clock of deadlines [R4]. */
#ifndef MOCK_CLOCK_H_
#define MOCK_CLOCK_H_

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
