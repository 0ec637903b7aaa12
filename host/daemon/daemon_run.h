// The entry point of the daemon for main(); daemon.h includes most of the host.
#pragma once

#include <filesystem>

#include "host/config/config.h"
#include "host/core/parent.h"

namespace cardcage {

// Returns at SIGTERM or SIGINT. Fails before it serves anything, on any problem that can be known by then.
Status run_daemon(Config config, std::filesystem::path config_file, Restarts restarts);

}  // namespace cardcage
