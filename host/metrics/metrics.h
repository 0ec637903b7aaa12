// What Prometheus reads of the daemon: https://prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <prometheus/registry.h>

#include <string>

#include "host/claim/call_meter.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// [core] Counts what has happened; all else is read from the daemon when somebody asks, so that no figure can be stale
// and no gauge outlives its device.
class Metrics final : public CallMeter {
 public:
  Metrics();

  void answered(KubeletCall call, const std::string& name, Code code, Duration took) override;
  // In the text format 0.0.4.
  std::string page(const DaemonView& daemon) const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& calls_;
};

}  // namespace cardcage
