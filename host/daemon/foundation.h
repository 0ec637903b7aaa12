// The parts of the daemon whose opening may fail or take long, and the change from one daemon of a node to the next.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <filesystem>
#include <memory>

#include "host/cdi/writer.h"
#include "host/config/config.h"
#include "host/ledger/ledger.h"
#include "host/model/change_counters.h"
#include "host/model/cluster.h"
#include "host/serving/hand_over.h"
#include "host/serving/standby.h"

namespace cardcage {

// [core] All other parts of the daemon point into it, and end before it.
struct Foundation {
  Foundation(Config of_daemon, FaultHook fault_hook);

  // Fails on any problem that can be known before serving: folders, ledger, credentials. During a rolling update it
  // waits for the previous daemon to exit, and serves the drivers meanwhile.
  static Result<std::unique_ptr<Foundation>> open(Config of_daemon, FaultHook fault_hook);

  Config config;  // the configuration in effect
  const FaultHook fault;
  asio::io_context core{1};
  SystemClock clock;
  asio::signal_set stop_signals{core, SIGTERM, SIGINT};
  ChangeCounters changes;
  HandOver hand_over;
  Standby standby{core, clock, config};
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Ledger> ledger;
  const CdiWriter cdi;
  std::filesystem::path hook_program;

 private:
  Status open();
  Status open_ledger();
  Status open_cluster();
  Result<std::unique_ptr<Ledger>> wait_for_ledger();
  void stand_by();
  void close_standby();
};

}  // namespace cardcage
