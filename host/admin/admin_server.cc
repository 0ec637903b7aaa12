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
class AdminService : public wire::Admin::CallbackService {
 public:
  AdminService(asio::io_context& core, Clock& clock, DaemonView& view)
      : calls_(core, UnaryCalls::WhenCancelled::kWait), streams_(core, clock, view), trim_(core, clock), view_(view) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const wire::GetStatusRequest*,
                                      wire::GetStatusResponse* response) override {
    return respond(context, response, [](DaemonView& view) { return view.status(); });
  }
  grpc::ServerUnaryReactor* ListModules(grpc::CallbackServerContext* context, const wire::ListModulesRequest*,
                                        wire::ListModulesResponse* response) override {
    return respond(context, response, [](DaemonView& view) { return view.modules(); });
  }
  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context, const wire::ListDevicesRequest*,
                                        wire::ListDevicesResponse* response) override {
    return respond(context, response, [](DaemonView& view) { return view.devices(); });
  }
  grpc::ServerUnaryReactor* ListClaims(grpc::CallbackServerContext* context, const wire::ListClaimsRequest*,
                                       wire::ListClaimsResponse* response) override {
    return respond(context, response, [](DaemonView& view) { return view.claims(); });
  }
  grpc::ServerUnaryReactor* ForgetClaim(grpc::CallbackServerContext* context, const wire::ForgetClaimRequest* request,
                                        wire::ForgetClaimResponse* response) override {
    return respond_later(context, response, [uid = request->uid(), force = request->force()](DaemonView& view) {
      return view.forget(uid, force);
    });
  }
  grpc::ServerUnaryReactor* ListHistory(grpc::CallbackServerContext* context, const wire::ListHistoryRequest* request,
                                        wire::ListHistoryResponse* response) override {
    return respond_later(context, response,
                         [query = history_query(*request)](DaemonView& view) { return view.history(query); });
  }
  grpc::ServerUnaryReactor* ListCatalogue(grpc::CallbackServerContext* context,
                                          const wire::ListCatalogueRequest* request,
                                          wire::ListCatalogueResponse* response) override {
    return respond_later(context, response,
                         [module = request->module()](DaemonView& view) { return view.catalogue(module); });
  }
  grpc::ServerUnaryReactor* Reload(grpc::CallbackServerContext* context, const wire::ReloadRequest* request,
                                   wire::ReloadResponse* response) override {
    return respond_later(context, response,
                         [dry_run = request->dry_run()](DaemonView& view) { return view.reload(dry_run); });
  }
  grpc::ServerUnaryReactor* QuiesceModule(grpc::CallbackServerContext* context,
                                          const wire::ModuleCommandRequest* request,
                                          wire::ModuleCommandResponse* response) override {
    return command(context, ModuleVerb::kQuiesce, *request, response);
  }
  grpc::ServerUnaryReactor* ResumeModule(grpc::CallbackServerContext* context,
                                         const wire::ModuleCommandRequest* request,
                                         wire::ModuleCommandResponse* response) override {
    return command(context, ModuleVerb::kResume, *request, response);
  }
  grpc::ServerUnaryReactor* RestartModule(grpc::CallbackServerContext* context,
                                          const wire::ModuleCommandRequest* request,
                                          wire::ModuleCommandResponse* response) override {
    return command(context, ModuleVerb::kRestart, *request, response);
  }
  grpc::ServerUnaryReactor* ListHealthRules(grpc::CallbackServerContext* context,
                                            const wire::ListHealthRulesRequest* request,
                                            wire::ListHealthRulesResponse* response) override {
    return respond_later(context, response,
                         [module = request->module()](DaemonView& view) { return ready(view.health_rules(module)); });
  }
  grpc::ServerUnaryReactor* ListHealthEvents(grpc::CallbackServerContext* context,
                                             const wire::ListHealthEventsRequest* request,
                                             wire::ListHealthEventsResponse* response) override {
    return respond_later(context, response,
                         [query = health_query(*request)](DaemonView& view) { return view.health_history(query); });
  }
  grpc::ServerUnaryReactor* CordonDevice(grpc::CallbackServerContext* context,
                                         const wire::DeviceCommandRequest* request,
                                         wire::DeviceCommandResponse* response) override {
    return command(context, DeviceVerb::kCordon, *request, response);
  }
  grpc::ServerUnaryReactor* UncordonDevice(grpc::CallbackServerContext* context,
                                           const wire::DeviceCommandRequest* request,
                                           wire::DeviceCommandResponse* response) override {
    return command(context, DeviceVerb::kUncordon, *request, response);
  }
  grpc::ServerUnaryReactor* ClearCause(grpc::CallbackServerContext* context, const wire::DeviceCommandRequest* request,
                                       wire::DeviceCommandResponse* response) override {
    return command(context, DeviceVerb::kClear, *request, response);
  }
  grpc::ServerUnaryReactor* ResetDevice(grpc::CallbackServerContext* context, const wire::DeviceCommandRequest* request,
                                        wire::DeviceCommandResponse* response) override {
    return command(context, DeviceVerb::kReset, *request, response);
  }
  grpc::ServerWriteReactor<wire::WatchEvent>* Watch(grpc::CallbackServerContext*, const wire::WatchRequest*) override {
    return streams_.open();
  }
  // [core]
  void end_streams() { streams_.shut(); }

 private:
  grpc::ServerUnaryReactor* command(grpc::CallbackServerContext* context, ModuleVerb verb,
                                    const wire::ModuleCommandRequest& request, wire::ModuleCommandResponse* response) {
    return respond_later(context, response,
                         [command = module_command(verb, request)](DaemonView& view) { return view.command(command); });
  }
  grpc::ServerUnaryReactor* command(grpc::CallbackServerContext* context, DeviceVerb verb,
                                    const wire::DeviceCommandRequest& request, wire::DeviceCommandResponse* response) {
    return respond_later(context, response,
                         [command = device_command(verb, request)](DaemonView& view) { return view.command(command); });
  }
  // `ask` returns the report.
  template <class Response, class Ask>
  grpc::ServerUnaryReactor* respond(grpc::CallbackServerContext* context, Response* response, const Ask& ask) {
    return respond_later(context, response,
                         [ask](DaemonView& view) { return ready(Result<decltype(ask(view))>(ask(view))); });
  }
  // `ask` returns a task of the report.
  template <class Response, class Ask>
  grpc::ServerUnaryReactor* respond_later(grpc::CallbackServerContext*, Response* response, const Ask& ask) {
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
};

// Every method of admin.proto without idempotency_level NO_SIDE_EFFECTS stands here; admin_server_test compares them.
class ReadOnlyService final : public AdminService {
 public:
  using AdminService::AdminService;

 private:
  using Call = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* ForgetClaim(Call* call, const wire::ForgetClaimRequest*, wire::ForgetClaimResponse*) override {
    return refuse(*call);
  }
  Reactor* Reload(Call* call, const wire::ReloadRequest*, wire::ReloadResponse*) override { return refuse(*call); }
  Reactor* QuiesceModule(Call* call, const wire::ModuleCommandRequest*, wire::ModuleCommandResponse*) override {
    return refuse(*call);
  }
  Reactor* ResumeModule(Call* call, const wire::ModuleCommandRequest*, wire::ModuleCommandResponse*) override {
    return refuse(*call);
  }
  Reactor* RestartModule(Call* call, const wire::ModuleCommandRequest*, wire::ModuleCommandResponse*) override {
    return refuse(*call);
  }
  Reactor* CordonDevice(Call* call, const wire::DeviceCommandRequest*, wire::DeviceCommandResponse*) override {
    return refuse(*call);
  }
  Reactor* UncordonDevice(Call* call, const wire::DeviceCommandRequest*, wire::DeviceCommandResponse*) override {
    return refuse(*call);
  }
  Reactor* ClearCause(Call* call, const wire::DeviceCommandRequest*, wire::DeviceCommandResponse*) override {
    return refuse(*call);
  }
  Reactor* ResetDevice(Call* call, const wire::DeviceCommandRequest*, wire::DeviceCommandResponse*) override {
    return refuse(*call);
  }
  static Reactor* refuse(Call& call) {
    return finish_at_once(call, to_grpc({Code::kPermissionDenied,
                                         "this socket only reads; send commands to the admin socket of the node "
                                         "(node.admin_socket), as root"}));
  }
};

std::unique_ptr<AdminService> make_service(asio::io_context& core, Clock& clock, DaemonView& view, bool read_only) {
  if (read_only) return std::make_unique<ReadOnlyService>(core, clock, view);
  return std::make_unique<AdminService>(core, clock, view);
}

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
      : core(context),
        socket(std::move(path)),
        group(readers),
        service(make_service(context, clock, view, readers.has_value())) {}
  asio::io_context& core;
  const std::filesystem::path socket;
  const SocketListener::Group group;  // set if the socket only reads
  const std::unique_ptr<AdminService> service;
  GrpcServer server{std::array<grpc::Service* const, 1>{service.get()}};
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
  state_->service->end_streams();
  co_await state_->server.stop(state_->core, kStopGrace);
}

}  // namespace cardcage
