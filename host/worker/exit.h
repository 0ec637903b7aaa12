// Ends the worker after an unrecoverable system error.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cardcage {

// Runs no destructors: the module may be running or broken. A closed descriptor has the same text on every thread: only
// the module can have closed it.
[[noreturn]] inline void exit_with_errno(const char* failed) {
  if (errno == EBADF) failed = "the module closed a descriptor of its worker";
  std::fprintf(stderr, "cardcage-worker: %s: %s\n", failed, std::strerror(errno));
  ::_exit(EXIT_FAILURE);
}

}  // namespace cardcage
