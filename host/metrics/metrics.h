// The metrics page for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <prometheus/registry.h>

#include <string>

#include "host/claim/call_meter.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// [core] Only calls are counted here. Everything else is read from the daemon for each page, so that no figure is stale
// and no gauge outlives its device.
class Metrics final : public CallMeter {
 public:
  Metrics();

  void answered(KubeletCall call, const std::string& name, Code code, Duration took) override;
  // Text format 0.0.4.
  std::string page(const DaemonView& daemon) const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& calls_;
};

}  // namespace cardcage
