// Copies the container edits that a module requests, and checks them against the rules of the CDI specification.
#pragma once

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/edits.h"

namespace cardcage {

Result<EnvVar> copy_env(cage_str name, cage_str value);
Result<DeviceNode> copy_device_node(const cage_device_node& given);
Result<Mount> copy_mount(const cage_mount& given);
Result<Hook> copy_hook(const cage_hook& given);
Result<LdPath> copy_ld_path(cage_str folder, cage_str newer_than);
Result<ProcText> copy_proc_text(cage_str path, cage_str text);
Result<NetDevice> copy_net_device(const cage_net_device& given);

}  // namespace cardcage
