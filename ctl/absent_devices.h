// Why there are no devices to show.
#pragma once

#include <string>

#include "ctl/session.h"

namespace cardcage {

// "no devices", and which modules do not run and have listed none: all, or the one that `module` names.
std::string no_devices_text(const Session& session, const std::string& module);

}  // namespace cardcage
