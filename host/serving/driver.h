// One DRA driver name: its claims, its ResourceSlices, its health and its sockets towards the kubelet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "host/binding/binder.h"
#include "host/claim/claim_preparer.h"
#include "host/claim/measured_claims.h"
#include "host/core/task_group.h"
#include "host/serving/driver_front.h"
#include "host/serving/served.h"
#include "host/slices/slice_publisher.h"

namespace cardcage {

// [core] The sockets are made once there are devices to serve or claims in the ledger; a kubelet that connected earlier
// would get a driver without them. In an upgrade the sockets exist already. A driver that is no longer configured loses
// its slices at once and its sockets once its claims are released.
class Driver final : public Served<DriverServer> {
 public:
  static constexpr Api kApi = Api::kDra;
  Driver(ServedName name, const ServingContext& context);

  // Returns true if no claim is prepared, and no slice is left or the API server has been unreachable for a while.
  bool idle() const override;
  void set_deadlines(const DeadlineConfig& deadlines) override;
  // Only the stream of health has texts: slices stay as they are.
  void refresh_texts() override { std::ignore = refresh_health(); }

  // Unprepares the claim as on a call of the kubelet.
  Task<Status> unprepare(ClaimRef claim, TurnCheck check = nullptr);
  // Forgets a claim that its modules cannot release.
  Task<Status> drop(ClaimRef claim);

  ClaimPreparer& claims() { return *claims_; }
  const SlicePublisher& publisher() const { return *publisher_; }

 private:
  Instant refresh() override;
  Result<std::unique_ptr<DriverServer>> open_server() override;
  // The slices stay: the kubelet removes them if the driver does not come back.
  Task<void> before_stop() override;
  bool has_claims() const;
  // Returns the latest time to do so again.
  Instant refresh_health();
  HealthList gone_devices() const;
  Instant unprepare_deadline() const;

  const std::shared_ptr<ClaimPreparer> claims_;
  MeasuredClaims measured_;
  const std::unique_ptr<DriverFront> front_;   // never null
  std::unique_ptr<SlicePublisher> publisher_;  // never null
  std::unique_ptr<Binder> binder_;             // never null
  TaskGroup parts_;                            // the publisher and the binder
  bool working_ = false;                       // both run
  std::optional<Instant> offers_nothing_;      // start of the time without devices
};

}  // namespace cardcage
