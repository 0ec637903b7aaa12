// The life cycle that a driver and a resource share: when the server of a name is made, looked after and stopped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "host/cdi/writer.h"
#include "host/claim/call_meter.h"
#include "host/claim/claim_reader.h"
#include "host/claim/claim_statuses.h"
#include "host/config/config.h"
#include "host/core/backoff.h"
#include "host/core/fault_point.h"
#include "host/core/wakeup.h"
#include "host/kubelet/clients.h"
#include "host/ledger/ledger.h"
#include "host/model/cluster.h"
#include "host/rpc/client_slot.h"
#include "host/serving/device_table.h"
#include "host/serving/standby.h"

namespace cardcage {

// What all drivers and resources share; outlives them.
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
  std::function<void()> handed_out;  // called after devices were handed out: the kubelet soon knows to whom
  // Called when a device was taken or released that rules others of its module out.
  std::function<void(const std::string& module)> partition_changed;
  // See ClaimEnvironment.
  std::function<Task<Status>(std::string module, std::string claim_uid, Instant deadline)> stop_services;
  std::function<Status(const std::string& claim_uid)> check_services;
  std::function<Hook(const ClaimKey& claim)> sandbox_hook;
  std::function<void(Edits& edits)> make_hooks;
  std::function<Task<Status>(Instant deadline)> hooks_ready;
  std::function<void(const ClaimKey& claim)> leaves_pods;
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
// [core] An object stays until the end of the daemon once it was made, because calls may be under way. `Server` is
// DriverServer or ResourceServer.
template <class Server>
class Served {
 public:
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  virtual ~Served() = default;

  const ServedName& name() const { return name_; }
  // Without a rule the name is known only from the ledger, or was configured earlier: what is held is released, then
  // the name is stopped.
  virtual void configure(const ServeConfig* rule) { configured_ = rule != nullptr; }
  bool configured() const { return configured_; }
  virtual void set_deadlines(const DeadlineConfig& deadlines) = 0;

  // Follows the table soon, once for a burst of changes.
  void refresh_soon() { wake_.wake(); }
  // Withdraws the server and waits for open calls.
  Task<void> stop(Instant deadline);
  // After a stop: serves again, with the configuration as it is now.
  void start();
  // False between a stop and a start.
  bool running() const { return serving() || std::holds_alternative<Unserved>(state_); }
  // A stop is due: nobody would miss the name, or it has to be served in another way.
  bool must_stop() const { return running() && (configured_ ? outdated() : idle()); }
  // Nobody would miss the name if it was not served.
  virtual bool idle() const = 0;

  // Nothing while no server is open.
  auto server_status() const { return server() ? std::optional(server()->status()) : std::nullopt; }
  // Why the server could not be opened.
  std::optional<Error> server_error() const;

 protected:
  Served(ServedName name, const ServingContext& context);
  // Follows the table; returns when to do so again at the latest.
  virtual Instant refresh() = 0;
  virtual Result<std::unique_ptr<Server>> open_server() = 0;
  // The configuration asks for another kind of server than the one that is open.
  virtual bool outdated() const { return false; }
  // Ends what else belongs to the name, before the server.
  virtual Task<void> before_stop() { co_return; }

  // Opens the server unless it is open, or its last attempt was a moment ago.
  void serve();
  Server* server() { return serving() ? std::get<Serving>(state_).server.get() : nullptr; }
  const Server* server() const { return serving() ? std::get<Serving>(state_).server.get() : nullptr; }
  // When start() was called last; tells one life of the name from the next.
  Instant started() const { return started_; }
  const ServingContext& context() const { return context_; }

 private:
  struct Unserved {
    std::optional<Error> error;  // of the last attempt
    Instant next_attempt{};
  };
  struct Serving {
    std::unique_ptr<Server> server;
  };
  struct Stopping {};
  struct Stopped {};

  bool serving() const { return std::holds_alternative<Serving>(state_); }
  Task<void> run(OneShot<bool> ended);

  const ServedName name_;
  const ServingContext context_;
  bool configured_ = false;
  std::variant<Stopped, Unserved, Serving, Stopping> state_;
  Instant started_{};
  Backoff attempts_;
  Wakeup wake_;
  OneShot<bool> ended_;  // run() of this life has returned
};

}  // namespace cardcage
