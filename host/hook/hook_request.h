// The protocol between the hook and the daemon over a unix socket of the node: the hook sends lines of text, and with
// the first byte a descriptor of the pod's network namespace; the daemon responds "ok", or the reason why the container
// must not start.
//
// The program on the node and the daemon may be of different versions during an upgrade or a rollback. Messages of the
// second protocol begin with its name. Those of the first name no sandbox, and its daemons end the connection without a
// response to a message that they do not know.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// Names below the daemon's run_dir.
constexpr std::string_view kHookSocket = "sandbox.sock", kAttachmentsFolder = "attached";
constexpr std::string_view kHookProtocol = "cardcage-hook/2";
constexpr std::string_view kHookOk = "ok";
// First arguments of the modes that do not call the daemon: raise a limit of the container, change its root.
constexpr std::string_view kLockMemory = "lock-memory", kChangeRoot = "change-root";
constexpr std::size_t kMaxHookMessage = 4096;
// The limit for a whole run of the hook: to reach the daemon, to ask and to get the response.
constexpr std::chrono::seconds kHookLimit{20};

struct HookRequest {
  std::string driver, claim_uid;
  std::string pod_namespace, pod, pod_uid, sandbox;  // empty if the container runtime does not tell
  friend bool operator==(const HookRequest&, const HookRequest&) = default;
};

std::string to_message(const HookRequest& request);
std::string to_first_message(const HookRequest& request);  // in the first protocol
// Reads messages of both protocols.
Result<HookRequest> hook_request_from(std::string_view message);

}  // namespace cardcage
