// Resolves which opaque parameters of a claim reach which device.
//
// The rules of resource.k8s.io: an entry is for one driver. It applies to a device if it names no request, the device's
// request, or the base of that ("main" of "main/sub"). Entries of the claim override those of the class, later ones
// override earlier ones. The entries are sorted here, because some releases of the scheduler did not list classes
// first.
#pragma once

#include <string>
#include <vector>

#include "host/model/claim.h"
#include "host/model/module.h"

namespace cardcage {

// The devices of a claim that one module runs.
struct ConfigTarget {
  const ModuleIdentity* identity = nullptr;
  struct Device {
    std::string request;  // "main" or "main/sub"
    std::string kind;
  };
  std::vector<Device> devices;
};

struct ResolvedConfig {
  std::vector<ModuleParams> params;  // rising precedence; `requests` as in the devices, empty = all
  std::vector<OptionValues> values;  // one per device
};

// One result per target. kInvalidArgument for parameters that the module refuses or that exceed 10 KiB, for an entry of
// an unknown type, and for an entry that names the request of a device that does not take its kind: none of them must
// be ignored. An entry that names no request is for those devices that take its kind. If the modules of a claim expect
// different kinds, each gets its own.
Result<std::vector<ResolvedConfig>> resolve_configs(const std::vector<OpaqueConfig>& configs, const std::string& driver,
                                                    const std::vector<ConfigTarget>& targets);

}  // namespace cardcage
