#include "host/admin/admin_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "cardcage/admin.grpc.pb.h"
#include "host/admin/change_streams.h"
#include "host/admin/messages.h"
#include "host/core/delayed_call.h"
#include "host/core/log.h"
#include "host/core/memory.h"
#include "host/rpc/grpc_server.h"
#include "host/rpc/socket_listener.h"
#include "host/rpc/unary_call.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;

constexpr std::chrono::seconds kStopGrace{1};
// The messages about a thousand devices need megabytes for a moment, which the heap would keep.
constexpr std::size_t kLargeResponse = std::size_t{256} << 10;
constexpr Duration kTrimPause = std::chrono::seconds(2);
constexpr mode_t kAdminFolder = 0700, kReadersFolder = 0755;

// Every call waits for its report, and GrpcServer::stop waits for the calls.
class AdminService final : public wire::Admin::CallbackService {
 public:
  using Call = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  AdminService(asio::io_context& core, Clock& clock, DaemonView& view, bool read_only)
      : calls_(core, UnaryCalls::WhenCancelled::kWait),
        streams_(core, clock, view),
        trim_(core, clock),
        view_(view),
        read_only_(read_only) {}

  Reactor* GetStatus(Call* call, const wire::GetStatusRequest*, wire::GetStatusResponse* response) override {
    return respond(call, response, [](DaemonView& view) { return view.status(); });
  }
  Reactor* ListModules(Call* call, const wire::ListModulesRequest*, wire::ListModulesResponse* response) override {
    return respond(call, response, [](DaemonView& view) { return view.modules(); });
  }
  Reactor* ListDevices(Call* call, const wire::ListDevicesRequest*, wire::ListDevicesResponse* response) override {
    return respond(call, response, [](DaemonView& view) { return view.devices(); });
  }
  Reactor* ListClaims(Call* call, const wire::ListClaimsRequest*, wire::ListClaimsResponse* response) override {
    return respond(call, response, [](DaemonView& view) { return view.claims(); });
  }
  Reactor* ForgetClaim(Call* call, const wire::ForgetClaimRequest* request,
                       wire::ForgetClaimResponse* response) override {
    return change(call, response, [uid = request->uid(), force = request->force()](DaemonView& view) {
      return view.forget(uid, force);
    });
  }
  Reactor* ListHistory(Call* call, const wire::ListHistoryRequest* request,
                       wire::ListHistoryResponse* response) override {
    return respond_later(call, response,
                         [query = history_query(*request)](DaemonView& view) { return view.history(query); });
  }
  Reactor* ListCatalogue(Call* call, const wire::ListCatalogueRequest* request,
                         wire::ListCatalogueResponse* response) override {
    return respond_later(call, response,
                         [module = request->module()](DaemonView& view) { return view.catalogue(module); });
  }
  Reactor* Reload(Call* call, const wire::ReloadRequest* request, wire::ReloadResponse* response) override {
    return change(call, response, [dry_run = request->dry_run()](DaemonView& view) { return view.reload(dry_run); });
  }
  Reactor* QuiesceModule(Call* call, const wire::ModuleCommandRequest* request,
                         wire::ModuleCommandResponse* response) override {
    return command(call, ModuleVerb::kQuiesce, *request, response);
  }
  Reactor* ResumeModule(Call* call, const wire::ModuleCommandRequest* request,
                        wire::ModuleCommandResponse* response) override {
    return command(call, ModuleVerb::kResume, *request, response);
  }
  Reactor* RestartModule(Call* call, const wire::ModuleCommandRequest* request,
                         wire::ModuleCommandResponse* response) override {
    return command(call, ModuleVerb::kRestart, *request, response);
  }
  Reactor* ListHealthRules(Call* call, const wire::ListHealthRulesRequest* request,
                           wire::ListHealthRulesResponse* response) override {
    return respond_later(call, response,
                         [module = request->module()](DaemonView& view) { return ready(view.health_rules(module)); });
  }
  Reactor* ListHealthEvents(Call* call, const wire::ListHealthEventsRequest* request,
                            wire::ListHealthEventsResponse* response) override {
    return respond_later(call, response,
                         [query = health_query(*request)](DaemonView& view) { return view.health_history(query); });
  }
  Reactor* CordonDevice(Call* call, const wire::DeviceCommandRequest* request,
                        wire::DeviceCommandResponse* response) override {
    return command(call, DeviceVerb::kCordon, *request, response);
  }
  Reactor* UncordonDevice(Call* call, const wire::DeviceCommandRequest* request,
                          wire::DeviceCommandResponse* response) override {
    return command(call, DeviceVerb::kUncordon, *request, response);
  }
  Reactor* ClearCause(Call* call, const wire::DeviceCommandRequest* request,
                      wire::DeviceCommandResponse* response) override {
    return command(call, DeviceVerb::kClear, *request, response);
  }
  Reactor* ResetDevice(Call* call, const wire::DeviceCommandRequest* request,
                       wire::DeviceCommandResponse* response) override {
    return command(call, DeviceVerb::kReset, *request, response);
  }
  grpc::ServerWriteReactor<wire::WatchEvent>* Watch(Call*, const wire::WatchRequest*) override {
    return streams_.open();
  }
  // [core]
  void end_streams() { streams_.shut(); }

 private:
  Reactor* command(Call* call, ModuleVerb verb, const wire::ModuleCommandRequest& request,
                   wire::ModuleCommandResponse* response) {
    return change(call, response,
                  [command = module_command(verb, request)](DaemonView& view) { return view.command(command); });
  }
  Reactor* command(Call* call, DeviceVerb verb, const wire::DeviceCommandRequest& request,
                   wire::DeviceCommandResponse* response) {
    return change(call, response,
                  [command = device_command(verb, request)](DaemonView& view) { return view.command(command); });
  }
  // Every method of admin.proto without idempotency_level NO_SIDE_EFFECTS calls this; admin_server_test compares them.
  template <class Response, class Ask>
  Reactor* change(Call* call, Response* response, const Ask& ask) {
    if (!read_only_) return respond_later(call, response, ask);
    return finish_at_once(*call, to_grpc({Code::kPermissionDenied,
                                          "this socket only reads; send commands to the admin socket of the node "
                                          "(node.admin_socket), as root"}));
  }
  // `ask` returns the report.
  template <class Response, class Ask>
  Reactor* respond(Call* call, Response* response, const Ask& ask) {
    return respond_later(call, response,
                         [ask](DaemonView& view) { return ready(Result<decltype(ask(view))>(ask(view))); });
  }
  // `ask` returns a task of the report.
  template <class Response, class Ask>
  Reactor* respond_later(Call*, Response* response, const Ask& ask) {
    return calls_.respond(*response, [this, ask](const OpenCall&) { return fill_when_ready<Response>(ask(view_)); });
  }
  template <class Report>
  static Task<Result<Report>> ready(Result<Report> report) {
    co_return report;
  }
  template <class Response, class Report>
  Task<Result<Response>> fill_when_ready(Task<Result<Report>> task) {
    const Result<Report> report = co_await std::move(task);
    if (!report) co_return std::unexpected(report.error());
    Response response;
    fill(response, *report);
    if (!trim_.pending() && response.ByteSizeLong() >= kLargeResponse)
      trim_.call_after(kTrimPause, release_free_memory);
    co_return response;
  }

  UnaryCalls calls_;
  ChangeStreams streams_;
  DelayedCall trim_;
  DaemonView& view_;
  const bool read_only_;
};

void admit(asio::io_context& core, GrpcServer& server, UniqueFd connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
      may_administer(peer.uid, ::geteuid()))
    return server.adopt(core, std::move(connection));
  log_limited(LogLevel::kWarn, "admin peer", "refused a connection to the admin socket",
              {{"user", peer.uid}, {"pid", peer.pid}});
}

}  // namespace

bool may_administer(uid_t peer, uid_t daemon) { return peer == 0 || peer == daemon; }

struct AdminServer::State {
  State(asio::io_context& context, Clock& clock, std::filesystem::path path, SocketListener::Group readers,
        DaemonView& view)
      : core(context), socket(std::move(path)), group(readers), service(context, clock, view, readers.has_value()) {}
  asio::io_context& core;
  const std::filesystem::path socket;
  const SocketListener::Group group;  // set if the socket only reads
  AdminService service;
  GrpcServer server{std::array<grpc::Service* const, 1>{&service}};
  std::unique_ptr<SocketListener> listener;
};

AdminServer::AdminServer(asio::io_context& core, Clock& clock, std::filesystem::path socket, DaemonView& view)
    : state_(std::make_unique<State>(core, clock, std::move(socket), std::nullopt, view)) {}

AdminServer::AdminServer(asio::io_context& core, Clock& clock, ReadOnlySocket socket, DaemonView& view)
    : state_(std::make_unique<State>(core, clock, std::move(socket.path), socket.group, view)) {}

Status AdminServer::restore() {
  if (state_->listener && state_->listener->present()) return {};
  const bool removed = state_->listener != nullptr, read_only = state_->group.has_value();
  const std::string_view name = read_only ? "read-only socket" : "admin socket";
  state_->listener.reset();
  // The kernel checks the mode of the read-only socket at connect(2).
  auto listener = SocketListener::open(
      state_->core, state_->socket, read_only ? kReadersFolder : kAdminFolder,
      [&state = *state_](UniqueFd connection) {
        if (state.group) return state.server.adopt(state.core, std::move(connection));
        admit(state.core, state.server, std::move(connection));
      },
      SocketListener::Appearance::kBound, state_->group);
  if (!listener)
    return within(with_key(listener.error(), read_only ? "node.read_only_socket" : "node.admin_socket"), "{}", name);
  state_->listener = std::move(*listener);
  if (removed)
    log(LogLevel::kWarn, fmt::format("listening on the {} again; it had been removed", name),
        {{"socket", state_->socket.native()}});
  return {};
}

AdminServer::~AdminServer() = default;

Task<void> AdminServer::stop() {
  state_->listener.reset();
  state_->service.end_streams();
  co_await state_->server.stop(state_->core, kStopGrace);
}

}  // namespace cardcage
