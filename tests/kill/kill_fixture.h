// Kills the real daemon or its workers at a fault point or at any moment, and checks the invariants afterwards.
#pragma once

#include <map>
#include <ostream>
#include <set>
#include <string>

#include "host/ledger/ledger.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/fault_point_names.h"

namespace cardcage {

// The point and the victim of a kill by mortal_cardcage, see mortal/main.cc.
struct Death {
  FaultPoint point;
  const char* victim;  // "host", "workers"
  std::string name() const { return (victim == std::string_view("host") ? "Host" : "Workers") + name_of(point); }
  friend void PrintTo(const Death& death, std::ostream* out) { *out << death.name(); }
};
// Names the case of a test with a death as its parameter.
inline constexpr auto kNameOfDeath = [](const auto& about) { return about.param.name(); };

// A node with the devices gpu-0 to gpu-3 and nic-0 to nic-3.
class KillTest : public DaemonTest {
 protected:
  KillTest() { configure_with(""); }
  // `options` are added to the list of devices.
  void configure_with(const std::string& options);
  // Starts a daemon that kills itself or its workers as given.
  void start_with(const Death& death);
  // Waits for the death, and starts the next daemon if the host died.
  void survive(const Death& death);
  // Repeat the call until it succeeds, as the kubelet does: a worker needs a second to restart.
  bool prepare_with_retries(const ClaimRef& claim);
  bool unprepare_with_retries(const ClaimRef& claim);
  // Checks that no claim has left a trace.
  void expect_nothing_left();

  struct Books {
    std::map<std::string, std::string> hardware;                  // device -> claim that it is set up for
    std::map<std::string, std::set<std::string>> held, prepared;  // claim -> its devices in the ledger
  };
  // [while the daemon is dead] Reads the books. Fails the test if the hardware contradicts the ledger or two claims
  // hold one device.
  Books audit() const;
  std::set<std::string> claims_with_cdi_file() const;
  // [after the daemon has restarted] Checks that each prepared claim has its file and each file a claim that holds
  // devices.
  void expect_cdi_files(const Books& books) const;
};

}  // namespace cardcage
