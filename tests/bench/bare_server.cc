#include "tests/bench/bare_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "host/apiserver/api_server.h"
#include "host/kubelet/protocol.h"

namespace cardcage::bench {
namespace {

using Prepare = api::dra_v1::NodePrepareResourcesRequest;
using Prepared = api::dra_v1::NodePrepareResourcesResponse;
using Unprepare = api::dra_v1::NodeUnprepareResourcesRequest;
using Unprepared = api::dra_v1::NodeUnprepareResourcesResponse;

// A core with the daemon's own API client on a thread of its own, as in the daemon.
class Core {
 public:
  explicit Core(const std::string& kubeconfig) {
    ApiServerConfig config;
    config.kubeconfig = kubeconfig;
    auto made = ApiServer::make(core_, clock_, config);
    if (!made) throw std::runtime_error(made.error().message);
    api_ = std::move(*made);
    std::thread([this] { core_.run(); }).detach();  // until the process is killed
  }
  // Reads each claim, responds with one device for it, and finishes the call.
  void prepare(const Prepare& request, Prepared& response, grpc::ServerUnaryReactor& reactor) {
    asio::post(core_, [this, &request, &response, &reactor] { spawn(core_, read(*this, request, response, reactor)); });
  }

 private:
  static Task<void> read(Core& core, const Prepare& request, Prepared& response, grpc::ServerUnaryReactor& reactor) {
    for (const auto& claim : request.claims()) {
      const Instant deadline = core.clock_.now() + std::chrono::seconds(10);
      const auto got = co_await core.api_->get_claim(claim.namespace_(), claim.name(), deadline);
      auto& result = (*response.mutable_claims())[claim.uid()];
      if (got)
        result.add_devices()->add_cdi_device_ids("bare/server=device");
      else
        result.set_error(got.error().message);
    }
    reactor.Finish(grpc::Status::OK);
  }

  asio::io_context core_;
  const asio::executor_work_guard<Executor> work_{core_.get_executor()};
  SystemClock clock_;
  std::unique_ptr<ApiServer> api_;
};

class BareService final : public api::dra_v1::DRAPlugin::CallbackService {
 public:
  explicit BareService(const std::string& kubeconfig) {
    if (!kubeconfig.empty()) core_.emplace(kubeconfig);
  }

  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context, const Prepare* request,
                                                 Prepared* response) override {
    auto* reactor = context->DefaultReactor();
    if (core_ && request->claims_size() > 0)
      core_->prepare(*request, *response, *reactor);
    else
      reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context, const Unprepare* request,
                                                   Unprepared* response) override {
    for (const auto& claim : request->claims()) (*response->mutable_claims())[claim.uid()];
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  std::optional<Core> core_;
};

}  // namespace

int serve_bare(const std::string& socket, const std::string& kubeconfig) {
  BareService service(kubeconfig);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  server->Wait();
  return 0;
}

BareServer::BareServer(std::string socket, std::string kubeconfig) : socket_(std::move(socket)) {
  std::string arguments[] = {"/proc/self/exe", "--bare-server", socket_, std::move(kubeconfig)};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(), nullptr};
  if (::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, argv, environ) != 0) {
    throw std::runtime_error("cannot start the bare server");
  }
}

BareServer::~BareServer() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace cardcage::bench
