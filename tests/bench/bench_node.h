// A node for the benchmarks: a fake API server with claims, the real daemon with the mock module, a kubelet's clients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/kubelet/clients.h"
#include "host/model/claim.h"
#include "tests/fakes/daemon_process.h"
#include "tests/fakes/fake_api_server.h"

namespace cardcage::bench {

inline constexpr const char *kDriver = "gpu.mock.cardcage.dev", *kResource = "mock.cardcage.dev/fpga";

class BenchNode {
 public:
  // `modules` instances of the mock, each with `devices` devices, and a claim for each device of the first one.
  BenchNode(int modules, int devices);

  // Starts the daemon and returns the time from exec until a kubelet can register it.
  std::chrono::steady_clock::duration start();
  // Waits until the daemon has published all devices.
  void wait_for_slices();

  ClaimRef claim(int index) const;
  void prepare(const std::vector<ClaimRef>& claims);
  void unprepare(const std::vector<ClaimRef>& claims);

  const DriverClients& clients() const { return *clients_; }
  DaemonProcess& daemon() { return daemon_; }
  std::filesystem::path kubeconfig() const { return daemon_.folder() / "kubeconfig"; }

 private:
  void write_kubeconfig() const;
  boost::json::object claim_object(int index) const;

  int modules_, devices_;
  FakeApiServer api_;
  // In memory, as /var/run/cdi on a node: ext4 without a journal skips inodes that were deleted a moment ago, and that
  // search took half of the daemon's time here.
  ScratchFolder cdi_{"/dev/shm"}, run_{"/dev/shm"};
  DaemonProcess daemon_;
  std::unique_ptr<DriverClients> clients_;
};

}  // namespace cardcage::bench
