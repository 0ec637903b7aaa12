// Runs cagectl as an operator's shell does.
#pragma once

#include <string>
#include <vector>

namespace cardcage {

struct Ended {
  int code = -1;  // exit code; -1 if a signal or the time limit ended it
  std::string out, err;
};

// At most 10 s. `input` is its stdin, `environment` extra "NAME=value" entries. CARDCAGE_* of the caller is not
// passed on.
Ended run_cagectl(const std::vector<std::string>& arguments, const std::string& input = "",
                  const std::vector<std::string>& environment = {});

// Any program, found in PATH.
Ended run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input = "",
                  const std::vector<std::string>& environment = {});

}  // namespace cardcage
