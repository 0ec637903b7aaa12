// The Multi-Process Service: a control daemon for each claim that requests it, which runs until the claim is released.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "modules/nvidia/sharing.h"

namespace cardcage::nvidia {

// The devices of a claim that have the same settings, by UUID.
struct MpsGroup {
  MpsSettings settings;
  std::vector<std::string> devices;
};

// Runs cardcage-nvidia-mps as a service. Each claim has a folder with the daemon's pipes and log, and with a tmpfs for
// the shared memory of the daemon and its programs, so that no container fills the node's shared memory.
class Mps {
 public:
  Mps(cage::Host host, std::filesystem::path root, std::filesystem::path driver_root)
      : host_(host), root_(std::move(root)), driver_root_(std::move(driver_root)) {}

  // Returns once the daemon serves the devices, and at once if it already does. Groups may differ only in the limits of
  // memory, because the other settings hold for the whole daemon.
  void start(const cage::Call& call, std::string_view claim_uid, const std::vector<MpsGroup>& groups) const;
  // Does nothing if no daemon runs.
  void stop(const cage::Call& call, std::string_view claim_uid) const;
  // Adds the folder and the variables to a container that gets one of the devices.
  void add_to(cage::Edit edit, std::string_view claim_uid) const;

 private:
  std::filesystem::path folder_of(std::string_view claim_uid) const { return root_ / claim_uid; }

  cage::Host host_;
  const std::filesystem::path root_, driver_root_;
};

// The commands for the control daemon at each start.
std::vector<std::string> mps_commands(const std::vector<MpsGroup>& groups);
// All devices, in the order in which the daemon counts them.
std::vector<std::string> mps_devices(const std::vector<MpsGroup>& groups);

}  // namespace cardcage::nvidia
