// The life cycle shared by drivers and resources: creation, upkeep and end of a name's server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "host/cdi/writer.h"
#include "host/claim/call_meter.h"
#include "host/claim/claim_host.h"
#include "host/claim/claim_reader.h"
#include "host/claim/claim_statuses.h"
#include "host/config/config.h"
#include "host/core/backoff.h"
#include "host/core/fault_point.h"
#include "host/core/task_group.h"
#include "host/core/wakeup.h"
#include "host/kubelet/clients.h"
#include "host/ledger/ledger.h"
#include "host/model/cluster.h"
#include "host/rpc/client_slot.h"
#include "host/serving/device_table.h"
#include "host/serving/standby.h"

namespace cardcage {

// Shared by all drivers and resources; outlives them.
struct ServingContext {
  asio::io_context& core;
  Clock& clock;
  const Config& config;
  Cluster& cluster;
  ClaimReader& claims;
  Ledger& ledger;
  const CdiWriter& cdi;
  const DeviceTable& table;
  ClientSlot<KubeletClients>& kubelet;
  CallMeter& meter;
  std::function<void()> handed_out;  // called after devices were handed out: the kubelet soon knows their pods
  ClaimHost& host;
  ClaimStatuses& statuses;
  Standby& standby;
  FaultHook fault;
};

//                 serve()                stop()               server stopped
//  [Unserved] ──────────────▶ [Serving] ────────▶ [Stopping] ───────────────▶ [Stopped]
//   ▲  │ └── stop() ─────────────────────────────────▲                            │
//   │  └──▶ again after a pause, while the server cannot be opened                │
//   └──────────────────────────────── start() ────────────────────────────────────┘
//
// [core] An object stays until the end of the daemon, because calls may be in progress. `Server` is DriverServer or
// ResourceServer.
template <class Server>
class Served {
 public:
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  virtual ~Served() = default;

  const ServedName& name() const { return name_; }
  // `rule` is null for a name that only the ledger knows, or that was configured earlier: its devices are released,
  // then the name is stopped.
  virtual void configure(const ServeConfig* rule) { configured_ = rule != nullptr; }
  bool configured() const { return configured_; }
  virtual void set_deadlines(const DeadlineConfig& deadlines) = 0;

  // Schedules a refresh, one for a burst of changes.
  void refresh_soon() { wake_.wake(); }
  // Publishes changed texts about health, if the name shows them.
  virtual void refresh_texts() {}
  // Withdraws the server and waits for open calls.
  Task<void> stop(Instant deadline);
  // Serves again after a stop, with the current configuration.
  void start();
  // Returns false between a stop and a start.
  bool running() const { return serving() || std::holds_alternative<Unserved>(state_); }
  // Returns true if the name is not needed any more, or must be served by another kind of server.
  bool must_stop() const { return running() && (configured_ ? outdated() : idle()); }
  // Returns true if the name is not needed any more.
  virtual bool idle() const = 0;

  // Returns nothing while no server is open.
  auto server_status() const { return server() ? std::optional(server()->status()) : std::nullopt; }
  // Returns the reason why the server could not be opened.
  std::optional<Error> server_error() const;

 protected:
  Served(ServedName name, const ServingContext& context);
  // Follows the table; returns the latest time to do so again.
  virtual Instant refresh() = 0;
  virtual Result<std::unique_ptr<Server>> open_server() = 0;
  // Returns true if the configuration requires another kind of server than the open one.
  virtual bool outdated() const { return false; }
  // Ends the name's other parts before the server.
  virtual Task<void> before_stop() { co_return; }

  // Opens the server unless it is open, or its last attempt was a moment ago.
  void serve();
  Server* server() { return serving() ? std::get<Serving>(state_).server.get() : nullptr; }
  const Server* server() const { return serving() ? std::get<Serving>(state_).server.get() : nullptr; }
  // Returns the time of the last start(), which identifies the current run of the name.
  Instant started() const { return started_; }
  const ServingContext& context() const { return context_; }

 private:
  struct Unserved {
    std::optional<Error> error;  // error of the last attempt
    Instant next_attempt{};
  };
  struct Serving {
    std::unique_ptr<Server> server;
  };
  struct Stopping {};
  struct Stopped {};

  bool serving() const { return std::holds_alternative<Serving>(state_); }
  Task<void> run();

  const ServedName name_;
  const ServingContext context_;
  bool configured_ = false;
  std::variant<Stopped, Unserved, Serving, Stopping> state_;
  Instant started_{};
  Backoff attempts_;
  Wakeup wake_;
  TaskGroup runs_;
};

}  // namespace cardcage
