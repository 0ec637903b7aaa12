// A module inside the daemon: fast, and only as safe as the module.
//
// All calls happen on the module's thread, in order; those for claims happen on further threads if the module is
// concurrent.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "host/core/core_gate.h"
#include "host/core/paced_call.h"
#include "host/instance/instance.h"
#include "host/instance/lane.h"
#include "host/instance/lane_pool.h"
#include "host/module/running_module.h"

namespace cardcage {

// [core] A stuck module is stopped and destroyed if its call returns after all.
class InProcessModule final : public RunningModule {
 public:
  // `lane` is the thread that loaded the module. `core` and `clock` outlive the object.
  InProcessModule(asio::io_context& core, Clock& clock, std::unique_ptr<Lane> lane, LoadedModule module, Parts parts);
  // Call stop() first: an instance that still runs is cancelled and stops on its own thread, unobserved.
  ~InProcessModule() override;

  std::vector<SaidLine> last_lines() const override { return instance_->services().last_lines(); }
  Leftover leftover() const override;

 private:
  Status begin(std::uint64_t number, ModuleCall call, Instant deadline) override;
  bool cancel(std::uint64_t number) override;
  bool is_traced() const override;
  Error give_up(const OpenCall& call) override;
  Task<void> tear_down(Instant deadline) override;
  // Tears down an instance that got no stop call.
  void tear_down_later();
  void deliver_news();
  std::string stuck_text(std::string_view what, WallTime since) const;

  const std::unique_ptr<Lane> lane_;
  LanePool claim_lanes_;  // used if the module is concurrent
  std::shared_ptr<Instance> instance_;
  std::map<std::uint64_t, std::shared_ptr<CallContext>> contexts_;  // contexts of the calls on a lane
  // Shared with the lanes and with the leftover.
  const std::shared_ptr<std::atomic<bool>> torn_down_ = std::make_shared<std::atomic<bool>>(false);
  std::string stuck_;  // the stuck call, if the instance could not be stopped in time
  PacedCall news_;     // paces the module's reports
  const CoreGate gate_;
};

}  // namespace cardcage
