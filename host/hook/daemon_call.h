// The hook's calls to the daemon.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "host/core/descriptors.h"
#include "host/core/result.h"
#include "host/hook/hook_request.h"

namespace cardcage {

using HookDeadline = std::chrono::steady_clock::time_point;

// Reads until the other side ends. Fails at the deadline, or if there are more than `limit` bytes.
Result<std::string> read_all(int descriptor, std::size_t limit, HookDeadline deadline);

// Has the daemon attach the claim to the network namespace. Waits for a daemon that is away, or that is stopped while
// its socket still listens, and always returns by the deadline.
Status ask_daemon(const std::filesystem::path& run_dir, const HookRequest& request, const SharedFd& network_namespace,
                  HookDeadline deadline);

}  // namespace cardcage
