#include "host/sandbox/hook_server.h"

#include <fcntl.h>

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>

#include "host/core/delayed_call.h"
#include "host/core/descriptors.h"

namespace cardcage {

HookServer::HookServer(asio::io_context& core, Clock& clock, std::filesystem::path socket, Answer answer)
    : core_(core), clock_(clock), socket_(std::move(socket)), answer_(std::move(answer)), hooks_(core) {}

Status HookServer::restore() {
  if (listener_ && listener_->present()) return {};
  listener_.reset();
  auto listener = SocketListener::open(core_, socket_, 0700,
                                       [this](UniqueFd connection) { hooks_.spawn(serve(std::move(connection))); });
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  return {};
}

Task<void> HookServer::stop(Instant deadline) {
  listener_.reset();
  co_await hooks_.join(clock_, deadline);
}

// A hook that sends nothing in time, or too much, gets no reply.
Task<void> HookServer::serve(UniqueFd connection) {
  asio::local::stream_protocol::socket socket(core_, asio::local::stream_protocol(), connection.release());
  DelayedCall limit(core_, clock_);
  limit.call_after(kHookLimit, [&socket] {
    boost::system::error_code ignored;
    socket.close(ignored);
  });
  std::string message;
  std::deque<SharedFd> descriptors;
  boost::system::error_code failed;
  for (std::array<char, kMaxHookMessage> piece;;) {
    co_await socket.async_wait(asio::socket_base::wait_read, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
    const ssize_t size = receive_with(socket.native_handle(), piece, descriptors);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size < 0 || message.size() + static_cast<std::size_t>(size) > kMaxHookMessage) co_return;
    if (size == 0) break;
    message.append(piece.data(), static_cast<std::size_t>(size));
  }
  auto request = hook_request_from(message);
  Status answer;
  if (!request) {
    answer = std::unexpected(request.error());
  } else if (descriptors.size() != 1) {
    answer = fail(Code::kInvalidArgument, "the container hook sent {} descriptors instead of the network namespace",
                  descriptors.size());
  } else {
    UniqueFd network_namespace(::fcntl(descriptors.front()->get(), F_DUPFD_CLOEXEC, 0));
    answer = co_await answer_(std::move(*request), std::move(network_namespace));
  }
  const std::string text = answer ? std::string(kHookOk) : answer.error().message.substr(0, kMaxHookMessage);
  if (socket.is_open())
    co_await asio::async_write(socket, asio::buffer(text), asio::redirect_error(asio::use_awaitable, failed));
}

}  // namespace cardcage
