#include <signal.h>

#include "tests/hostile/hostile_modules.h"

namespace cardcage {
namespace {

using H = HostileModules;
using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

std::vector<Fault> refused_faults() {
  return {
      {.id = "no_symbol",
       .row = "no entry symbol",
       .file = "no_entry.so",
       .provoke = &H::only_start,
       .error = "it does not export cage_module_v1"},
      {.id = "null_table",
       .row = "the entry returns no table",
       .file = "null_table.so",
       .provoke = &H::only_start,
       .error = "returned no table"},
      {.id = "bad_magic",
       .row = "bad magic",
       .file = "bad_magic.so",
       .provoke = &H::only_start,
       .error = "its table begins with 0xdeadbeef and not with CAGE_MAGIC"},
      {.id = "short_table",
       .row = "short table",
       .file = "short_table.so",
       .provoke = &H::only_start,
       .error = "its table says struct_size 64"},
      {.id = "other_major",
       .row = "another ABI major",
       .file = "other_major.so",
       .provoke = &H::only_start,
       .error = "it is built for module ABI major 7"},
      {.id = "newer_minor",
       .row = "a later ABI minor",
       .file = "newer_minor.so",
       .provoke = &H::only_start,
       .error = "it needs a host with module ABI 1.99 or later"},
      {.id = "big_tls",
       .row = "static TLS too large",
       .file = "big_tls.so",
       .provoke = &H::only_start,
       .error = "static TLS"},
      {.id = "hung_constructor",
       .row = "a constructor that hangs",
       .file = "slow_constructor.so",
       .provoke = &H::hang_while_loaded,
       .error = "is stuck while it is loaded"},
      {.id = "crash_in_constructor",
       .row = "a constructor that crashes",
       .file = "crashes_in_constructor.so",
       .provoke = &H::only_start,
       .error =
           "its worker was killed by signal 11 (Segmentation fault); perhaps a constructor, its entry or its table "
           "is at fault: run 'cagectl module check --in-process' with it in a debugger",
       .exit_in_process = KilledBySignal(SIGSEGV)},
      {.id = "exit_in_constructor",
       .row = "a constructor that calls exit",
       .file = "exits_in_constructor.so",
       .provoke = &H::only_start,
       .error = "its worker exited with status 0; perhaps a constructor",
       .exit_in_process = ExitedWithCode(0)},
  };
}

std::vector<Fault> failing_calls() {
  return {
      {.id = "create_fails",
       .row = "create fails",
       .file = "scripted.so",
       .behave = {"create=explain"},
       .provoke = &H::only_start,
       .error = "cannot start: the card in slot 3 is too hot"},
      {.id = "create_crashes",
       .row = "create crashes",
       .file = "scripted.so",
       .behave = {"create=crash"},
       .provoke = &H::only_start,
       .error = "was killed by signal 11 (Segmentation fault); it printed last: 'about to read register 0x10'",
       .exit_in_process = KilledBySignal(SIGSEGV)},
      {.id = "create_hangs",
       .row = "create never returns",
       .file = "scripted.so",
       .behave = {"create=hang"},
       .provoke = &H::hang_in_start,
       .error = "was stuck in start since",
       .error_in_process = "is stuck in start since"},
      {.id = "cancel_ignored",
       .row = "cancel and deadline ignored",
       .file = "scripted.so",
       .behave = {"check=hang"},
       .provoke = &H::hang_in_check,
       .error = "was stuck in check since",
       .error_in_process = "is stuck in check since"},
      {.id = "unknown_status",
       .row = "unknown status",
       .file = "scripted.so",
       .behave = {"reset=number"},
       .provoke = &H::reset_once,
       .error = "it returned 4711, which is not a status"},
      {.id = "invalid_devices",
       .row = "duplicate or invalid devices",
       .file = "invalid_devices.so",
       .provoke = &H::find_only_the_valid_device},
      {.id = "many_devices",
       .row = "more devices than the host takes",
       .file = "many_devices.so",
       .provoke = &H::find_as_many_devices_as_allowed},
      {.id = "late_sink",
       .row = "sink used after its call, or from another thread",
       .file = "scripted.so",
       .behave = {"check=late-sink", "check=stranger"},
       .provoke = &H::use_late_sinks},
      {.id = "eight_threads",
       .row = "host called from 8 threads",
       .file = "eight_threads.so",
       .provoke = &H::hear_eight_threads},
      {.id = "flood_of_causes",
       .row = "a flood of causes of health",
       .file = "scripted.so",
       .behave = {"check=causes-flood"},
       .provoke = &H::check_once},
      {.id = "flood_of_events",
       .row = "a flood of events, and descriptors that cannot be polled",
       .file = "watcher.so",
       .provoke = &H::flood_with_events},
      {.id = "events_hang",
       .row = "events never returns",
       .file = "watcher.so",
       .behave = {"hang"},
       .provoke = &H::hang_in_events,
       .error = "was stuck in handle events since",
       .error_in_process = "is stuck in handle events since"},
      {.id = "polled_and_closed",
       .row = "a polled descriptor is closed",
       .file = "watcher.so",
       .provoke = &H::close_a_polled_descriptor},
      {.id = "exception",
       .row = "C++ exception",
       .file = "throwing.so",
       .provoke = &H::discover_once,
       .error = "it threw an exception; no exception may leave a module [R9]: no driver"},
  };
}

std::vector<Fault> process_ends() {
  return {
      {.id = "segv",
       .row = "SIGSEGV",
       .file = "scripted.so",
       .behave = {"check=crash"},
       .provoke = &H::check_once,
       .error = "was killed by signal 11 (Segmentation fault); it printed last: 'about to read register 0x10'",
       .exit_in_process = KilledBySignal(SIGSEGV)},
      {.id = "wild_pointer",
       .row = "a pointer to nowhere",
       .file = "wild_pointer.so",
       .provoke = &H::check_once,
       .error = "was killed by signal 11 (Segmentation fault)",
       .exit_in_process = KilledBySignal(SIGSEGV)},
      {.id = "abort",
       .row = "abort",
       .file = "aborts.so",
       .provoke = &H::check_once,
       .error = "was killed by signal 6 (Aborted); it printed last: 'assertion failed: fans > 0'",
       .exit_in_process = KilledBySignal(SIGABRT)},
      {.id = "exit",
       .row = "exit",
       .file = "exits.so",
       .provoke = &H::check_once,
       .error = "exited with status 3; it printed last: 'no license'",
       .exit_in_process = ExitedWithCode(3)},
      {.id = "stack_overflow",
       .row = "stack overflow",
       .file = "overflows_stack.so",
       .provoke = &H::check_once,
       .error = "was killed by signal 11 (Segmentation fault)",
       .exit_in_process = KilledBySignal(SIGSEGV)},
  };
}

std::vector<Fault> process_changes() {
  return {
      {.id = "fd_leak", .row = "descriptors leak", .file = "leaks_descriptors.so", .provoke = &H::check_once},
      {.id = "memory_leak", .row = "memory leaks", .file = "leaks_memory.so", .provoke = &H::check_once},
      {.id = "fork", .row = "fork", .file = "forks.so", .provoke = &H::leave_a_child},
      {.id = "escaped_fork",
       .row = "fork, and the child leaves the process group",
       .file = "forks.so",
       .provoke = &H::leave_an_escaped_child,
       .runs_in_process = false},
      {.id = "hidden_fork",
       .row = "fork, and the child leaves the process group and is silent",
       .file = "forks.so",
       .provoke = &H::leave_a_hidden_child,
       .runs_in_process = false,
       .needs_control_groups = true},
      {.id = "settings",
       .row = "chdir, umask, setlocale, signal",
       .file = "changes_process.so",
       .provoke = &H::check_once},
      {.id = "closed_descriptors",
       .row = "host descriptors closed",
       .file = "closes_descriptors.so",
       .provoke = &H::close_descriptors,
       .error =
           "exited with status 1; it printed last: 'cardcage-worker: the module closed a descriptor of its worker: "
           "Bad file descriptor'"},
      {.id = "other_protobuf",
       .row = "a bundled, different Protobuf",
       .file = "bundles_protobuf.so",
       .provoke = &H::parse_with_both},
  };
}

}  // namespace

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> joined;
    for (auto& some : {refused_faults(), failing_calls(), process_ends(), process_changes()})
      joined.insert(joined.end(), some.begin(), some.end());
    return joined;
  }();
  return all;
}

}  // namespace cardcage
