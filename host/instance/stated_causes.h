// Whether what a module states about causes is what it declares [R23].
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/model/cause.h"

namespace cardcage {

class StatedCauses {
 public:
  StatedCauses(std::string module, const std::vector<CauseDeclaration>& declared);

  // [any-thread] Logs a cause that is not declared, though some are; the statement counts all the same. Logs a value
  // without a unit, and takes it away.
  void check(Health& health) const;

 private:
  std::string module_;
  std::map<std::string, bool> has_unit_;  // by declared cause
};

}  // namespace cardcage
