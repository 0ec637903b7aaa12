// The pages of the daemon: /metrics, /healthz and /readyz.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "host/config/live_config.h"
#include "host/core/delayed_call.h"
#include "host/ledger/ledger.h"
#include "host/metrics/collector.h"
#include "host/metrics/endpoint.h"
#include "host/metrics/metrics.h"
#include "host/pods/pod_reconciler.h"
#include "host/supervision/supervisors.h"

namespace cardcage {

// Returns true if the page of metrics names the pods that use claims: a module has metrics, and a claim of a driver is
// prepared. Only the kubelet's lists tell these pods.
bool wants_claim_users(const Supervisors& supervisors, const Ledger& ledger);

// [core] A port that is taken costs only the pages: serving devices matters more.
class Pages {
 public:
  // All of it outlives the core's work.
  struct Environment {
    asio::io_context& core;
    Clock& clock;
    const DaemonView& view;
    const MetricsCounters& counters;
    const LiveConfig& config;
    const Supervisors& supervisors;
    const Ledger& ledger;
    PodReconciler& pods;
    Wakeup& pods_wanted;
  };
  explicit Pages(const Environment& daemon);

  // Serves the pages at another address from now on; at none if it is empty.
  void open(const std::string& address);
  // Explains why the pages are not served; empty if they are, or need not be.
  const std::string& error() const { return error_; }

 private:
  Task<HttpPage> page(std::string path);
  Task<HttpPage> metrics_page();
  HttpPage readiness() const;

  const Environment daemon_;
  MetricsCollector collector_;
  asio::thread_pool writer_{1};
  std::unique_ptr<HttpEndpoint> endpoint_;  // null while the port is taken
  std::string error_;
  DelayedCall retry_;
};

}  // namespace cardcage
