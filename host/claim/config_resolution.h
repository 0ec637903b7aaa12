// Which opaque parameters of a claim reach which device.
//
// Rules of resource.k8s.io: an entry is for one driver; it applies to a device if it names no request, the device's
// request, or the base of it ("main" of "main/sub"); claim beats class, later beats earlier. The allocator lists
// classes first, but some releases did not: the order is made here.
#pragma once

#include <string>
#include <vector>

#include "host/model/claim.h"
#include "host/model/module.h"

namespace cardcage {

// The devices of a claim that one module runs.
struct ConfigTarget {
  const ModuleIdentity* identity = nullptr;
  std::vector<std::string> requests;  // of each device: "main" or "main/sub"
};

struct ResolvedConfig {
  std::vector<ModuleParams> params;  // rising precedence; `requests` as the devices have them, empty = all
  std::vector<OptionValues> values;  // of each device
};

// One answer per target. kInvalidArgument for parameters that the module refuses, that are larger than 10 KiB, or for
// an entry of a kind this host does not know: it cannot be honoured, so it must not be ignored. Where modules of one
// claim expect different kinds, each gets its own.
Result<std::vector<ResolvedConfig>> resolve_configs(const std::vector<OpaqueConfig>& configs, const std::string& driver,
                                                    const std::vector<ConfigTarget>& targets);

}  // namespace cardcage
