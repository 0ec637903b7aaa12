// The Multi-Process Service: a control daemon for each claim that asks for it, which runs until the claim is released.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "modules/nvidia/sharing.h"

namespace cardcage::nvidia {

// The devices of a claim with the same settings, by UUID.
struct MpsGroup {
  MpsSettings settings;
  std::vector<std::string> devices;
};

// Runs cardcage-nvidia-mps as a service. Each claim has a folder with the daemon's pipes and log, and with the shared
// memory that it and its programs need: a tmpfs, so that no container fills that of the node.
class Mps {
 public:
  Mps(cage::Host host, std::filesystem::path root, std::filesystem::path driver_root)
      : host_(host), root_(std::move(root)), driver_root_(std::move(driver_root)) {}

  // Returns once the daemon serves the devices. Does nothing if it already does. Groups may differ in the limits of
  // memory alone, because what else there is holds for the whole daemon.
  void start(const cage::Call& call, std::string_view claim_uid, const std::vector<MpsGroup>& groups) const;
  // Does nothing if there is none.
  void stop(const cage::Call& call, std::string_view claim_uid) const;
  // For containers that get one of the devices.
  void add_to(cage::Edit edit, std::string_view claim_uid) const;

 private:
  std::filesystem::path folder_of(std::string_view claim_uid) const { return root_ / claim_uid; }

  cage::Host host_;
  const std::filesystem::path root_, driver_root_;
};

// What the control daemon is told at each start.
std::vector<std::string> mps_commands(const std::vector<MpsGroup>& groups);
// All of them, in the order in which the daemon counts them.
std::vector<std::string> mps_devices(const std::vector<MpsGroup>& groups);

}  // namespace cardcage::nvidia
