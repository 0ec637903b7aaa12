// What a module can do to the process that it is loaded into, as far as it shows.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace cardcage {

struct ProcessState {
  std::map<int, std::string> descriptors;  // and where they lead; without the images of modules, which stay mapped
  std::set<pid_t> children;
  std::string folder, locale;
  mode_t mask = 0;
  bool signal_handled = false;  // SIGUSR2
  std::size_t memory_mib = 0;

  // Of this process.
  static ProcessState now();
  // In words, what is not as it was; empty if all of it is.
  std::string changes_since(const ProcessState& before) const;
};

// Ends the children and closes the descriptors that `before` does not know, and sets the rest back.
void restore(const ProcessState& before);

// False for one that has ended, reaped or not.
bool is_alive(pid_t pid);

}  // namespace cardcage
