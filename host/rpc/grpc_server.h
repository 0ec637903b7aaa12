// A gRPC server whose connections are accepted elsewhere.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <span>

#include "host/core/task.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// For callback services only, because all servers and channels of the process share gRPC's few completion threads.
// Connections are never closed for being idle or old: a kubelet that loses them wipes the driver's slices.
class GrpcServer {
 public:
  // The services outlive the server, which refuses larger requests.
  explicit GrpcServer(std::span<grpc::Service* const> services, int max_request_bytes = 1024 * 1024);

  // [any-thread] A connected stream socket, non-blocking.
  void adopt(UniqueFd connection);
  // [core] Closes all connections and cancels the calls that are still open after `grace`. Returns after OnDone of
  // every call, so the core must be able to respond to the calls that it has taken.
  Task<void> stop(asio::io_context& core, Duration grace);

 private:
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace cardcage
