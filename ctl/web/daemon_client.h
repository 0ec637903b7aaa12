// Calls of the daemon that a coroutine awaits.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "ctl/admin.h"
#include "host/rpc/client_calls.h"

namespace cardcage {

// [core] Each call has a connection of its own, as in the other commands, so a daemon that was restarted needs no care.
class DaemonClient {
 public:
  template <class Request, class Response>
  using Method = void (admin::v1::Admin::StubInterface::async_interface::*)(grpc::ClientContext*, const Request*,
                                                                            Response*,
                                                                            std::function<void(grpc::Status)>);

  DaemonClient(asio::io_context& core, std::filesystem::path socket)
      : socket_(std::move(socket)), calls_(std::make_unique<ClientCalls>(core)) {}

  const std::filesystem::path& socket() const { return socket_; }

  template <class Request, class Response>
  Task<Result<Response>> call(Method<Request, Response> method, Request request,
                              std::chrono::seconds limit = std::chrono::seconds(30)) {
    auto connection = connect();
    if (!connection) co_return std::unexpected(connection.error());
    const auto begin = [method](const AdminConnection& to, grpc::ClientContext* context, const Request* sent,
                                Response* received, auto ended) {
      (to.stub().async()->*method)(context, sent, received, std::move(ended));
    };
    const auto done = calls_->begin<Request, Response>(*std::move(connection), std::move(request), limit, begin);
    const Result<Response> response = co_await done.wait();
    if (!response) co_return std::unexpected(explain_failure(response.error(), socket_));
    co_return response;
  }
  // Fails at once, instead of waiting, if the daemon hangs.
  Result<std::shared_ptr<const AdminConnection>> connect() const;
  // Cancels the calls in progress and refuses further ones.
  void stop() { calls_.reset(); }

 private:
  const std::filesystem::path socket_;
  std::unique_ptr<ClientCalls> calls_;  // null once stopped
};

}  // namespace cardcage
