// The daemon as operators and monitoring see it: the admin sockets and the pages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/admin/admin_server.h"
#include "host/metrics/pages.h"
#include "host/view/operator_view.h"

namespace cardcage {

// [core]
class Operators {
 public:
  // All references outlive it.
  Operators(const OperatorView::Parts& daemon, const MetricsCounters& counters, PodReconciler& pods,
            Wakeup& pods_wanted);

  // Listens on the sockets, also after they were removed. Returns the result of each.
  std::vector<Status> restore();
  Pages& pages() { return pages_; }
  Task<void> stop();

 private:
  const NodeConfig& node_;
  OperatorView view_;
  std::vector<std::unique_ptr<AdminServer>> admin_;
  Pages pages_;
};

}  // namespace cardcage
