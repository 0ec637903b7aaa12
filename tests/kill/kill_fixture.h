// The real daemon and its workers, killed at a fault point or at any moment, and what must hold afterwards.
#pragma once

#include <map>
#include <ostream>
#include <set>
#include <string>

#include "host/ledger/ledger.h"
#include "tests/daemon/daemon_fixture.h"

namespace cardcage {

// See mortal/main.cc.
struct Death {
  FaultPoint point;
  int nth;
  const char* victim;                                                                   // "host", "workers"
  friend void PrintTo(const Death& death, std::ostream* out) { *out << death.victim; }  // the rest is in the name
};

// gpu-0 to gpu-3 and nic-0 to nic-3.
class KillTest : public DaemonTest {
 protected:
  KillTest() { configure_with(""); }
  // `options` come on top.
  void configure_with(const std::string& options);
  // The daemon's next life ends, or that of its workers, as said.
  void start_with(const Death& death);
  // Until the kubelet has an answer, as it asks again and again: a worker is away for a second.
  bool prepare_at_last(const ClaimRef& claim);
  bool unprepare_at_last(const ClaimRef& claim);
  bool dies() {
    return kubelet.wait_for([&] { return !daemon.running(); }, std::chrono::seconds(10));
  }
  // Nothing is left of any claim.
  void expect_nothing_left();

  struct Books {
    std::map<std::string, std::string> hardware;                  // device to the claim that it is set up for
    std::map<std::string, std::set<std::string>> held, prepared;  // claims to their devices, by the ledger
  };
  // [while the daemon is dead] Fails the test if the hardware or two claims contradict the ledger.
  Books audit() const;
  std::set<std::string> cdi_files() const;  // uids
  // Once the daemon is there again: every prepared claim has its file, and no file is nobody's. What is being prepared
  // or let go of may have one.
  void expect_cdi_files(const Books& books) const;
};

}  // namespace cardcage
