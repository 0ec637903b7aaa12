// Why there are no devices to show, and why hardware is not a device.
#pragma once

#include <string>

#include "ctl/session.h"

namespace cardcage {

// "no devices", and which modules do not run and have listed none: all, or the one that `module` names.
std::string no_devices_text(const Session& session, const std::string& module);

// "2 pieces of hardware are not offered; see …", or nothing if all that modules found is offered. `module` as above.
std::string not_offered_hint(const Session& session, const std::string& module);
// ": it is not offered: REASON", or nothing if no module has found hardware of this name.
std::string not_offered_reason(const Session& session, const std::string& name);
// The hardware that modules found and do not offer, as a table or as JSON. `module` as above.
Status show_not_offered(const Session& session, const std::string& module);

}  // namespace cardcage
