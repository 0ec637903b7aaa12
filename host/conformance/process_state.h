// Reads the state of a module's process from /proc, and finds what the module changed in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

// Bit n - 1 stands for signal n.
using SignalSet = std::uint64_t;

struct ThreadState {
  std::string name;
  SignalSet blocked = 0;
};
struct DescriptorState {
  std::string target;
  bool close_on_exec = false;
};

struct ProcessState {
  std::map<pid_t, ThreadState> threads;
  std::map<int, DescriptorState> descriptors;
  std::vector<pid_t> children;
  std::uint64_t ended_children = 0;  // grows with each child that the process has waited for, by more than one
  std::set<std::string> mappings;    // files below /dev and /sys
  SignalSet caught = 0, ignored = 0;
  std::string umask, folder;
};

// Fails if the process has exited. `proc` is /proc except in tests.
Result<ProcessState> read_process(pid_t pid, const std::filesystem::path& proc = "/proc");

// Each text is for people, and empty if there is nothing to report.
std::string new_threads(const ProcessState& before, const ProcessState& after);
std::string new_descriptors(const ProcessState& before, const ProcessState& after);
// Threads of the module that a signal to the process may reach.
std::string threads_that_take_signals(const ProcessState& before, const ProcessState& after);
std::string descriptors_for_children(const ProcessState& before, const ProcessState& after);
std::string changed_settings(const ProcessState& before, const ProcessState& after);
// Device files and files of sysfs that have been opened or mapped since.
std::string open_hardware(const ProcessState& before, const ProcessState& after);

}  // namespace cardcage
