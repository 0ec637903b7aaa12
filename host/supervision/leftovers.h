// Leftovers of stopped instances and failed loads of one module.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/model/module.h"

namespace cardcage {

class Leftovers {
 public:
  void add(Leftover leftover) {
    if (leftover) leftovers_.push_back(std::move(leftover));
  }
  // Explains why the oldest leftover may still hold the hardware, for people; nothing if none does. Forgets those that
  // are gone.
  std::optional<std::string> reason() {
    for (; !leftovers_.empty(); leftovers_.erase(leftovers_.begin()))
      if (auto why = leftovers_.front()()) return why;
    return std::nullopt;
  }

 private:
  std::vector<Leftover> leftovers_;
};

}  // namespace cardcage
