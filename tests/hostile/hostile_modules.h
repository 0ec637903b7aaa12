// Faults of modules, and how to make them happen.
#pragma once

#include <functional>

#include "tests/hostile/process_state.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {

class HostileModules;

struct Fault {
  std::string id;   // of the test
  std::string row;  // of the table
  std::string file;
  std::vector<std::string> behave = {};  // of scripted.so
  Status (HostileModules::*provoke)();
  std::string said = {};             // in the error, if there is one
  std::string said_in_process = {};  // if it is not the same there
  // How the daemon dies of it, if it does.
  std::function<bool(int)> end_in_process = {};
  bool runs_in_process = true;
};

// All of them.
const std::vector<Fault>& faults();

struct FaultCase {
  Fault fault;
  Isolation isolation;
};

class HostileModules : public ModuleFixture, public ::testing::WithParamInterface<FaultCase> {
 public:
  // Each lets the fault happen and returns what the caller gets to hear.
  Status only_start();
  Status check_once();
  Status discover_once();
  Status find_only_the_valid_device();
  Status hang_while_loaded();
  Status hang_in_start();
  Status hang_in_check();
  Status use_late_sinks();
  Status hear_eight_threads();
  Status leave_a_child();
  Status leave_an_escaped_child();
  Status close_descriptors();
  Status parse_with_both();

 protected:
  HostileModules();
  ~HostileModules() override { ::close(spare_); }

  const Fault& fault() const { return GetParam().fault; }
  // A module that has no fault lives a whole life.
  void use_a_good_module();

  std::vector<pid_t> left_children;

 private:
  Status start_it();
  Status check(const std::string& argument);
  Status stay_in(const std::string& call);
  Status fork_and_go_on(const std::string& how);

  const int spare_;  // a descriptor that the daemon can do without
};

}  // namespace cardcage
