// Faults of modules, and their provocation.
#pragma once

#include <functional>

#include "tests/hostile/process_state.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {

class HostileModules;

struct Fault {
  std::string id;   // in the name of the test
  std::string row;  // first column of the table in docs/failure-modes.md
  std::string file;
  std::vector<std::string> behave = {};  // option of scripted.so
  Status (HostileModules::*provoke)();
  std::string error = {};             // part of the error; empty = none
  std::string error_in_process = {};  // where it differs in-process
  // Exit status of a daemon that dies of the fault in-process; empty = it survives.
  std::function<bool(int)> exit_in_process = {};
  bool runs_in_process = true;
  bool needs_control_groups = false;
};

const std::vector<Fault>& faults();

struct FaultCase {
  Fault fault;
  Isolation isolation;
  friend void PrintTo(const FaultCase& about, std::ostream* out) { *out << about.fault.id; }
};

class HostileModules : public ModuleFixture, public ::testing::WithParamInterface<FaultCase> {
 public:
  // Each provokes a fault and returns the result for the caller of the module.
  Status only_start();
  Status check_once();
  Status reset_once();
  Status discover_once();
  Status find_only_the_valid_device();
  Status find_as_many_devices_as_allowed();
  Status hang_while_loaded();
  Status hang_in_start();
  Status hang_in_check();
  Status hang_in_events();
  Status flood_with_events();
  Status close_a_polled_descriptor();
  Status use_late_sinks();
  Status hear_eight_threads();
  Status leave_a_child();
  Status leave_an_escaped_child();
  Status leave_a_hidden_child();
  Status close_descriptors();
  Status parse_with_both();

 protected:
  HostileModules();
  ~HostileModules() override { ::close(spare_); }

  const Fault& fault() const { return GetParam().fault; }
  // Uses a module without fault from start to stop.
  void use_a_good_module();

  std::vector<pid_t> left_children;

 private:
  Status start_faulty();
  Status check(const std::string& device_id);
  Status hang_in(Task<Status> call);
  Status fork_and_check(const std::string& how);

  const int spare_;  // a descriptor without any other use
};

}  // namespace cardcage
