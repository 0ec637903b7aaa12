// A gRPC server whose connections are accepted elsewhere.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <span>
#include <vector>

#include "host/core/task.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// For callback services only, because all servers and channels of the process share gRPC's few completion threads.
// Connections are never closed for being idle or old: a kubelet that loses them wipes the driver's slices. Compressed
// requests get UNIMPLEMENTED before anything is decompressed, undecodable ones INVALID_ARGUMENT.
class GrpcServer {
 public:
  // The services outlive the server, which refuses larger requests.
  explicit GrpcServer(std::span<grpc::Service* const> services, int max_request_bytes = 1024 * 1024);
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // [core] A connected stream socket, non-blocking. Closes it if its peer does not send the preface of HTTP/2 within
  // `silence`: every client of gRPC sends it first, and at once.
  void adopt(asio::io_context& core, UniqueFd connection, Duration silence = std::chrono::minutes(1));
  // [core] Closes all connections and cancels the calls that are still open after `grace`. Returns after OnDone of
  // every call, so the core must be able to respond to the calls that it has taken.
  Task<void> stop(asio::io_context& core, Duration grace);

 private:
  struct SilentPeer;
  static Task<void> adopt_after_preface(std::shared_ptr<SilentPeer> peer);
  void drop_silent_peers();

  const std::unique_ptr<grpc::Server> server_;
  std::vector<std::weak_ptr<SilentPeer>> silent_peers_;
};

}  // namespace cardcage
