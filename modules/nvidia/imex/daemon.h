// The node's IMEX daemon, nvidia-imex, as nvidia-imex-ctl shows it. The administrator runs it as a service of the node.
//
// Source: NVIDIA, "IMEX Service for NVLink Networks", chapter "The nvidia-imex-ctl"; the states are those of
// dcgm_fields.h (DCGM_FI_IMEX_DAEMON_STATUS, DCGM_FI_IMEX_DOMAIN_STATUS).
#pragma once

#include <cardcage/sdk.hpp>
#include <string>

namespace cardcage::nvidia {

inline constexpr const char* kImexCause = "Imex";
// Pods that wait for the daemon would only fill the node, so they go elsewhere meanwhile.
inline constexpr cage::Cause kImexCauses[] = {{.name = kImexCause,
                                               .help = "the node's IMEX daemon is not ready, or its domain is not up",
                                               .hold_down = std::chrono::seconds(20),
                                               .taint = cage::Taint::no_schedule,
                                               .taint_key = "compute-domain.nvidia.com/imex"}};

class ImexDaemon {
 public:
  // `control_socket`: where the daemon's IMEX_CMD_UNIX_DOMAIN_PATH is for this process; empty = as nvidia-imex-ctl
  // finds it.
  ImexDaemon(cage::Host host, std::string control_socket) : host_(host), control_socket_(std::move(control_socket)) {}

  // The daemon and its domain, about the cause Imex. Throws cage::Error only if the call is cancelled.
  cage::Health health(const cage::Call& call) const;
  // Reports the state as progress meanwhile. Throws cage::Error with it shortly before the call's deadline.
  void wait_until_ready(const cage::Call& call) const;

 private:
  // "READY", "WAITING_FOR_PEERS". Throws cage::Error if the program cannot run or names no state.
  std::string state(const cage::Call& call) const;
  // "UP", "DEGRADED", "DOWN"; empty if this version of the program does not tell.
  std::string domain(const cage::Call& call) const;
  cage::ProgramResult ask(const cage::Call& call, std::vector<std::string> arguments) const;

  cage::Host host_;
  const std::string control_socket_;
};

}  // namespace cardcage::nvidia
