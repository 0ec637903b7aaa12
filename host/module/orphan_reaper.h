// Reaps what a container's process 1 inherits.
#pragma once

#include <sys/types.h>

#include <set>

namespace cardcage {

// [core] As process 1 of a container, the daemon becomes the parent of each process whose own parent has exited, and
// must reap it once it exits, too. SIGCHLD would tell of it, but belongs to the modules inside the daemon.
class OrphanReaper {
 public:
  // To be called every few seconds. Reaps the children that had already exited at the last call: a child that somebody
  // waits for, such as a worker, is reaped at once by its owner.
  void look();

 private:
  std::set<pid_t> exited_;
};

}  // namespace cardcage
