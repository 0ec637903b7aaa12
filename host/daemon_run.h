// The daemon from its start to its end, for main(): daemon.h includes most of the host.
#pragma once

#include <filesystem>

#include "host/config/config.h"
#include "host/core/parent.h"

namespace cardcage {

// Returns at SIGTERM or SIGINT. Fails before it serves anything, if something is wrong that can be known before.
Status run_daemon(Config config, std::filesystem::path config_file, Restarts restarts);

}  // namespace cardcage
