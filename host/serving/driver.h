// One DRA driver name: its claims, its ResourceSlices, its health and its sockets towards the kubelet.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "host/claim/claim_preparer.h"
#include "host/claim/measured_claims.h"
#include "host/config/config.h"
#include "host/dra/driver_server.h"
#include "host/serving/device_table.h"
#include "host/slices/slice_publisher.h"

namespace cardcage {

// What all drivers share; outlives them.
struct DriverContext {
  asio::io_context& core;
  Clock& clock;
  const Config& config;
  Cluster& cluster;
  Ledger& ledger;
  const CdiWriter& cdi;
  const DeviceTable& table;
  CallMeter& meter;
  FaultHook fault;
};

// [core] Stays until the end once it was made, though it may be stopped in between: calls may be under way.
class Driver {
 public:
  Driver(std::string name, DriverContext context);

  // Takes what the table says, soon and once for a burst of changes. The first time that there is something to serve,
  // devices or claims of the ledger, the sockets are made; before that a kubelet would get a driver that knows nothing.
  void refresh_soon();
  // Takes the sockets away and waits for open calls. The slices stay: the kubelet removes them if nobody comes back.
  Task<void> stop(Instant deadline);
  // After a stop: as it was made.
  void start();
  // False between a stop and a start.
  bool running() const { return !stopping_; }
  // Nothing would be missed: no claim is prepared, and no slice is left, or nobody can be told for a while already.
  bool idle() const;
  // The newest [deadlines].
  void set_deadlines(const DeadlineConfig& deadlines);

  const std::string& name() const { return name_; }
  const std::optional<Error>& server_error() const { return server_error_; }
  std::optional<DriverStatus> server_status() const;
  const PublisherStatus& publisher_status() const { return publisher_->status(); }

 private:
  void refresh();
  std::unique_ptr<SlicePublisher> make_publisher() const;
  void open_sockets();
  bool has_claims() const;
  Task<void> retry_later();
  Task<void> publish();

  const std::string name_;
  DriverContext context_;
  std::shared_ptr<ClaimPreparer> claims_;
  MeasuredClaims measured_;
  HealthBoard health_;
  std::unique_ptr<SlicePublisher> publisher_;  // never null; a new one with every start
  std::unique_ptr<DriverServer> server_;
  std::optional<Error> server_error_;
  OneShot<bool> publisher_ended_;
  bool refreshing_ = false, published_ = false, stopping_ = false;
  std::optional<Instant> offers_nothing_;  // since when
};

}  // namespace cardcage
