// The visible state of a process that a module can change: descriptors, children, settings, memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace cardcage {

struct ProcessState {
  std::map<int, std::string> descriptors;  // with their targets
  std::set<pid_t> children;
  std::string folder, locale;
  mode_t mask = 0;
  bool signal_handled = false;  // SIGUSR2
  std::size_t memory_mib = 0;

  // The state of this process.
  static ProcessState now();
  // Describes the differences; empty if there are none.
  std::string changes_since(const ProcessState& before) const;
};

// Kills the children and closes the descriptors that `before` does not know, and restores the settings.
void restore(const ProcessState& before);

}  // namespace cardcage
