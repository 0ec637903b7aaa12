// Readers of /proc for a process: for tests that watch the daemon and its workers, and for the benchmarks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <vector>

namespace cardcage::proc {

// The children of all its threads.
std::vector<pid_t> children(pid_t pid);
// Its children that run modules; a sanitizer has children, too.
std::vector<pid_t> workers(pid_t pid);
// False once the process has exited, reaped or not.
bool is_alive(pid_t pid);
// Open descriptors and their targets, without the descriptor that reads the list.
std::map<int, std::filesystem::path> open_files(pid_t pid);

// Proportional set size (smaps_rollup) and resident set size. Throw if there is no such process.
std::size_t pss_kib(pid_t pid);
std::size_t rss_kib(pid_t pid);
// The peak of the resident set size.
std::size_t peak_kib(pid_t pid);
// The CPU time of the threads that still run.
std::chrono::nanoseconds cpu_time(pid_t pid);

}  // namespace cardcage::proc
