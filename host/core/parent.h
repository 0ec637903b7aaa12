// The first process: starts the daemon in a child process, and starts it again after a crash.
#pragma once

#include <functional>
#include <string>

namespace cardcage {

// The number of restarts of the daemon since its first process began, and the reason for the last.
struct Restarts {
  unsigned count = 0;
  std::string last_end = {};  // end of the previous run: "was killed by signal 9 (Killed)"
};

// Runs `daemon` in a child process until it returns 0, a signal asks for its end, or its first run returns an error.
// Returns the exit status for the calling process. After any other end, also by exit(3), the child is replaced at once,
// and after growing pauses while it keeps failing.
//
// Signals for the daemon are passed on. As process 1 of a container the caller also reaps the processes that it
// inherits: services of claims and others that outlive the daemon. The daemon is killed when the caller is, so that
// nothing runs that its starter cannot stop.
//
// Call it before there is a second thread and before a descriptor is opened: the child inherits the caller's state.
int keep_running(const std::function<int(const Restarts&)>& daemon);

}  // namespace cardcage
