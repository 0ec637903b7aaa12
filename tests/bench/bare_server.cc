#include "tests/bench/bare_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "host/kubelet/protocol.h"

namespace cardcage::bench {
namespace {

class BareService final : public api::dra_v1::DRAPlugin::CallbackService {
  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const api::dra_v1::NodePrepareResourcesRequest*,
                                                 api::dra_v1::NodePrepareResourcesResponse*) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int serve_bare(const std::string& socket) {
  BareService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  server->Wait();
  return 0;
}

BareServer::BareServer(std::string socket) : socket_(std::move(socket)) {
  std::string arguments[] = {"/proc/self/exe", "--bare-server", socket_};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  if (::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, argv, environ) != 0) {
    throw std::runtime_error("cannot start the bare server");
  }
}

BareServer::~BareServer() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace cardcage::bench
