#include "host/daemon/operators.h"

namespace cardcage {

Operators::Operators(const OperatorView::Parts& daemon, const MetricsCounters& counters, PodReconciler& pods,
                     Wakeup& pods_wanted)
    : node_(daemon.config.node),
      view_(daemon),
      pages_(Pages::Environment{.core = daemon.core,
                                .clock = daemon.clock,
                                .view = view_,
                                .counters = counters,
                                .config = daemon.live_config,
                                .supervisors = daemon.supervisors,
                                .ledger = daemon.ledger,
                                .pods = pods,
                                .pods_wanted = pods_wanted}) {
  admin_.push_back(std::make_unique<AdminServer>(daemon.core, daemon.clock, node_.admin_socket, view_));
  if (!node_.read_only_socket.empty())
    admin_.push_back(std::make_unique<AdminServer>(
        daemon.core, daemon.clock, ReadOnlySocket{node_.read_only_socket, node_.read_only_group}, view_));
}

std::vector<Status> Operators::restore() {
  std::vector<Status> all;
  for (const auto& admin : admin_) all.push_back(admin->restore());
  return all;
}

Task<void> Operators::stop() {
  pages_.open("");
  for (const auto& admin : admin_) co_await admin->stop();
}

}  // namespace cardcage
