#include "host/rpc/grpc_server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <climits>
#include <thread>

#include "host/rpc/grpc_library.h"

namespace cardcage {
namespace {

constexpr int kMaxStreamsPerConnection = 256;  // the caller queues the others
// Far more than these streams need: gRPC drops connections when it runs out.
constexpr std::size_t kQuotaBytes = 64 * 1024 * 1024;

std::unique_ptr<grpc::Server> build(std::span<grpc::Service* const> services, int max_request_bytes) {
  hold_grpc();
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(max_request_bytes);
  builder.SetResourceQuota(grpc::ResourceQuota("cardcage").Resize(kQuotaBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);  // a stopped kubelet keeps its connection
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);   // and may ping as often as it likes
  return builder.BuildAndStart();
}

}  // namespace

GrpcServer::GrpcServer(std::span<grpc::Service* const> services, int max_request_bytes)
    : server_(build(services, max_request_bytes)) {}

void GrpcServer::adopt(UniqueFd connection) { grpc::AddInsecureChannelFromFd(server_.get(), connection.release()); }

Task<void> GrpcServer::stop(asio::io_context& core, Duration grace) {
  const OneShot<bool> done(core);
  const auto deadline = std::chrono::system_clock::now() + grace;
  // Shutdown blocks until the open calls end, and the core has to end them.
  const std::jthread shutdown([this, deadline, done] {
    server_->Shutdown(deadline);
    done.set(true);
  });
  co_await done.wait();
}

}  // namespace cardcage
