// A program of the node that only root and the daemon's user could have changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/core/trusted_path.h"

namespace cardcage {

class CheckedProgram {
 public:
  // Returns the descriptor of the program's folder, close-on-exec.
  int folder() const { return file_.folder.get(); }
  // Returns the path to execute in a process that has the folder as this descriptor. The lookup begins at the folder
  // that was checked, and ps shows the program's name. A script keeps its own path, by which its interpreter opens it
  // and finds neighbouring files: only root can replace a part of that path.
  std::string path_by(int folder) const;

 private:
  friend Result<CheckedProgram> check_program(const std::filesystem::path& file,
                                              const std::vector<std::string>& environment);
  CheckedProgram(WalkedPath file, bool is_script) : file_(std::move(file)), is_script_(is_script) {}

  WalkedPath file_;
  bool is_script_;
};

// [reads the disk] Follows links. Also checks a script's interpreter, and a library that the environment preloads.
Result<CheckedProgram> check_program(const std::filesystem::path& file,
                                     const std::vector<std::string>& environment = {});

}  // namespace cardcage
