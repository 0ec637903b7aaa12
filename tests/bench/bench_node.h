// A node for the benchmarks: fake API server with claims, the real daemon with the mock module, a kubelet's clients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/kubelet/clients.h"
#include "host/model/claim.h"
#include "tests/fakes/daemon_process.h"
#include "tests/fakes/fake_api_server.h"

namespace cardcage::bench {

inline constexpr const char* kDriver = "gpu.mock.cardcage.dev";

class BenchNode {
 public:
  // `modules` instances of the mock, each with `devices` devices; claims for the first one's.
  BenchNode(int modules, int devices);

  // Starts the daemon and returns how long it took from exec until a kubelet could register it.
  std::chrono::steady_clock::duration start();
  // Until the daemon lists all devices in slices.
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
  // As on a node, where /var/run/cdi is in memory: ext4 without a journal searches ever longer for an inode that was
  // not deleted just now, which took half of the daemon's time here.
  ScratchFolder cdi_{"/dev/shm"}, run_{"/dev/shm"};
  DaemonProcess daemon_;
  std::unique_ptr<DriverClients> clients_;
};

}  // namespace cardcage::bench
