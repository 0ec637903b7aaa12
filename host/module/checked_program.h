// A program of the node that only root and the daemon's user could have changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/core/trusted_path.h"

namespace cardcage {

class CheckedProgram {
 public:
  // The descriptor of its folder, close-on-exec.
  int folder() const { return file_.folder.get(); }
  // The path to execute in a process that has the folder as this descriptor. The lookup begins at the folder that was
  // checked, and ps shows the program's name. A script has its own path, by which its interpreter opens it and by which
  // it finds its neighbours: nobody but root can replace a part of it.
  std::string path_by(int folder) const;

 private:
  friend Result<CheckedProgram> check_program(const std::filesystem::path& file,
                                              const std::vector<std::string>& environment);
  CheckedProgram(WalkedPath file, bool is_script) : file_(std::move(file)), is_script_(is_script) {}

  WalkedPath file_;
  bool is_script_;
};

// [reads the disk] Follows links. A script's interpreter is checked as well, and a library that the environment has the
// program load before all others.
Result<CheckedProgram> check_program(const std::filesystem::path& file,
                                     const std::vector<std::string>& environment = {});

}  // namespace cardcage
