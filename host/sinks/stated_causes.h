// Compares a module's statements about causes with its declarations [R23].
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/model/cause.h"

namespace cardcage {

class StatedCauses {
 public:
  StatedCauses(std::string module, const std::vector<CauseDeclaration>& declared);

  // [any-thread] Logs an undeclared cause if the module declares some; the statement counts all the same. Logs a value
  // without a unit, and removes it.
  void check(Health& health) const;

 private:
  std::string module_;
  std::map<std::string, bool> has_unit_;  // by declared cause
};

}  // namespace cardcage
