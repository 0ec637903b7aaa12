// A DriverServer with real sockets on a live core, its claims mocked and its clock stepped by hand.
#pragma once

#include <fstream>
#include <future>
#include <string>

#include "host/dra/driver_server.h"
#include "host/kubelet/clients.h"
#include "tests/fakes/mock_claim_service.h"
#include "tests/unit/dra/prepared_devices.h"
#include "tests/unit/rpc/server_harness.h"

namespace cardcage {

constexpr const char* kDriver = "gpu.example.com";

// The number of the server's connections on this socket, from the kernel.
inline long connections_to(const std::filesystem::path& socket) {
  std::ifstream table("/proc/net/unix");
  long count = 0;
  for (std::string line; std::getline(table, line);) count += line.ends_with(" " + socket.native()) ? 1 : 0;
  return count - 1;  // the listening socket
}

class DriverHarness : public ServerHarness<DriverServer> {
 protected:
  Result<std::unique_ptr<DriverServer>> make(DriverServerOptions options) {
    return live.call([&] { return DriverServer::start(live.context(), clock, claims, health, options); });
  }
  DriverServerOptions options(const std::string& driver = kDriver) const {
    return {.driver = driver, .kubelet_root = root.path(), .instance = "", .limits = {}, .health = {}};
  }
  void start(DriverServerOptions wanted) { take(make(std::move(wanted))); }
  void start() { start(options()); }
  std::filesystem::path service_socket() const { return root / "plugins/gpu.example.com/dra.sock"; }
  std::filesystem::path registration_socket() const { return root / "plugins_registry/gpu.example.com-reg.sock"; }

  ::testing::NiceMock<MockClaimService> claims;
  HealthBoard health;
};

}  // namespace cardcage
