// What everything that is served shares.
#pragma once

#include <functional>

#include "host/cdi/writer.h"
#include "host/claim/call_meter.h"
#include "host/config/config.h"
#include "host/kubelet/clients.h"
#include "host/model/cluster.h"
#include "host/rpc/client_slot.h"
#include "host/serving/device_table.h"

namespace cardcage {

// Outlives every driver and resource.
struct ServingContext {
  asio::io_context& core;
  Clock& clock;
  const Config& config;
  Cluster& cluster;
  Ledger& ledger;
  const CdiWriter& cdi;
  const DeviceTable& table;
  ClientSlot<KubeletClients>& kubelet;
  CallMeter& meter;
  std::function<void()> handed_out;  // called after devices were handed out: the kubelet soon knows to whom
  FaultHook fault;
};

}  // namespace cardcage
