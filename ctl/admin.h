// A connection to the daemon's admin socket.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "cardcage/admin.grpc.pb.h"
#include "host/core/result.h"

namespace cardcage {

// The daemon responds to a command within the command's own limit, or this much later if it must undo something.
constexpr std::chrono::seconds kCommandReserve{15};

class AdminConnection {
 public:
  // Fails with kUnavailable if the daemon is not running, kPermissionDenied if the caller may not open the socket.
  static Result<AdminConnection> open(const std::filesystem::path& socket,
                                      std::chrono::milliseconds limit = std::chrono::seconds(3));

  template <class Request, class Response>
  Result<Response> call(grpc::Status (admin::v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request, std::chrono::nanoseconds limit = std::chrono::seconds(30)) {
    Response response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (!status.ok()) return std::unexpected(explain(status));
    return response;
  }
  // For calls that are not awaited here.
  admin::v1::Admin::Stub& stub() const { return *stub_; }

 private:
  AdminConnection(std::filesystem::path socket, std::unique_ptr<admin::v1::Admin::Stub> stub)
      : socket_(std::move(socket)), stub_(std::move(stub)) {}
  Error explain(const grpc::Status& status);

  std::filesystem::path socket_;
  std::unique_ptr<admin::v1::Admin::Stub> stub_;
};

// Returns the error of a call, for the operator.
Error explain_failure(Error error, const std::filesystem::path& socket);

// Opens a connection for a single call.
template <class Request, class Response>
Result<Response> ask(const std::filesystem::path& socket,
                     grpc::Status (admin::v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const Request& request = {}) {
  auto connection = AdminConnection::open(socket);
  if (!connection) return std::unexpected(connection.error());
  return connection->call(method, request);
}

}  // namespace cardcage
