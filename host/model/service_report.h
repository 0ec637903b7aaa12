// A service of a claim, as operators see it: a helper daemon that a module started with cage.service.
#pragma once

#include <cstdint>
#include <string>

namespace cardcage {

struct ServiceReport {
  std::string module, claim_uid, name;
  std::string state;  // "runs as pid 12", "starts again: its process exited with status 1"
  std::uint32_t restarts = 0;
};

}  // namespace cardcage
