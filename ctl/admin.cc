#include "ctl/admin.h"

#include <grpcpp/create_channel_posix.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "host/core/unique_fd.h"
#include "host/core/version.h"
#include "host/rpc/unix_socket.h"

namespace cardcage {
namespace {

constexpr std::string_view kStartIt = "start it with 'systemctl start cardcage', or name another socket with --socket";
constexpr std::chrono::milliseconds kConnectRetry{50};
constexpr std::string_view kDeadlineMessage = "Deadline Exceeded";  // gRPC's own message
constexpr int kMaxResponse = 64 * 1024 * 1024;                      // enough for thousands of claims

std::unexpected<Error> cannot_connect(int error_number, const std::filesystem::path& socket) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return fail(Code::kUnavailable, "cardcage is not running: no socket at {}; {}", socket.native(), kStartIt);
    case ECONNREFUSED:
      return fail(Code::kUnavailable, "cardcage is not running: no process listens on {}; {}", socket.native(),
                  kStartIt);
    case EACCES:
    case EPERM:
      return fail(Code::kPermissionDenied, "permission denied on {}; run cagectl as root, or as the user of cardcage",
                  socket.native());
    case EAGAIN:
      return fail(Code::kUnavailable,
                  "cardcage accepts no connection at {}: it is stopped or hangs; look at its process and its log",
                  socket.native());
    default: return fail_errno(error_number, fmt::format("cannot connect to {}", socket.native()));
  }
}

// Connects with a limit: connect(2) would block while the daemon is stopped and the queue of its socket is full.
Result<UniqueFd> connect_to(const std::filesystem::path& socket, std::chrono::milliseconds limit) {
  const auto address = unix_address(socket);
  if (!address) return std::unexpected(address.error());
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    UniqueFd fd = new_unix_socket();
    if (!fd) return fail_errno(errno, "cannot create a socket");
    if (connect_unix(fd, *address) == 0) return fd;
    const int error = errno;
    if (error != EAGAIN || std::chrono::steady_clock::now() >= deadline) return cannot_connect(error, socket);
    std::this_thread::sleep_for(kConnectRetry);
  }
}

}  // namespace

Result<AdminConnection> AdminConnection::open(const std::filesystem::path& socket, std::chrono::milliseconds limit) {
  auto fd = connect_to(socket, limit);
  if (!fd) return std::unexpected(fd.error());
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxResponse);
  auto channel = grpc::CreateCustomInsecureChannelFromFd("cardcage", fd->release(), arguments);
  return AdminConnection(socket, admin::v1::Admin::NewStub(channel));
}

Error AdminConnection::explain(const grpc::Status& status) {
  const auto code = static_cast<Code>(status.error_code());
  if (code == Code::kUnimplemented) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    admin::v1::GetStatusResponse daemon;
    if (!stub_->GetStatus(&context, {}, &daemon).ok())
      return {code, fmt::format("the server at {} is not cardcage", socket_.native())};
    if (status.error_message().empty())  // not an error of the daemon
      return {code, fmt::format("cardcage {} does not know this command of cagectl {}; use the cagectl of its version",
                                daemon.version(), version())};
  }
  return explain_failure({code, status.error_message()}, socket_);
}

Error explain_failure(Error error, const std::filesystem::path& socket) {
  // The daemon responds with this code, too, with its own message.
  if (error.code == Code::kDeadlineExceeded && error.message == kDeadlineMessage)
    return {Code::kUnavailable,
            fmt::format("cardcage at {} does not respond in time; look at its log, or restart it", socket.native())};
  if (error.code == Code::kUnavailable && ::geteuid() != 0)
    return {error.code, fmt::format("cardcage at {} does not respond ({}); it serves only root and its own user",
                                    socket.native(), error.message)};
  return {error.code, fmt::format("cardcage at {}: {}", socket.native(), error.message)};
}

}  // namespace cardcage
