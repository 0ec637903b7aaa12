// Runs cagectl as an operator's shell does.
#pragma once

#include <string>
#include <vector>

namespace cardcage {

struct Ended {
  int code = -1;  // exit code; -1 if a signal or the time limit ended it
  std::string out, err;
};

// Kills it after 10 s. `input` is its stdin, `environment` holds extra "NAME=value" entries. CARDCAGE_* variables of
// the caller are not passed on.
Ended run_cagectl(const std::vector<std::string>& arguments, const std::string& input = "",
                  const std::vector<std::string>& environment = {});

// Any program, found in PATH.
Ended run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input = "",
                  const std::vector<std::string>& environment = {});

}  // namespace cardcage
