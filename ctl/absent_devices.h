// Explains an empty list of devices, and hardware that is not a device.
#pragma once

#include <string>

#include "cardcage/admin.pb.h"
#include "ctl/session.h"

namespace cardcage {

// Lists the modules for the functions below; none if the daemon does not respond.
admin::v1::ListModulesResponse modules_for_hints(const Session& session);

// Returns "no devices" with the modules that do not run and have listed none: all, or the one named by `module`.
std::string no_devices_text(const admin::v1::ListModulesResponse& list, const std::string& module);

// Returns "2 pieces of hardware are not offered; see …"; nothing if all found hardware is offered. `module` as above.
std::string not_offered_hint(const admin::v1::ListModulesResponse& list, const std::string& module);
// Returns ": it is not offered: REASON"; nothing if no module has found hardware of this name.
std::string not_offered_reason(const admin::v1::ListModulesResponse& list, const std::string& name);
// Prints the hardware that modules found and do not offer, as a table or as JSON. `module` as above.
Status show_not_offered(const Session& session, const std::string& module);

}  // namespace cardcage
